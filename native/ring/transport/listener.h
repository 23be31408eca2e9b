// Listener: the listening end of one rank, open from the choice of its port until the ranks have met.
// Owner: whoever opened it. Thread-safety: one thread at a time, except that `address` may be read by any.
// A fork between open and connect is fine as long as one side alone goes on with it.
#pragma once

#include <cstdint>     // for uint64_t
#include <functional>  // for function
#include <string>      // for string
#include <utility>     // for move
#include <vector>      // for vector

#include "ring/base/deadline.h"
#include "ring/base/status.h"
#include "ring/base/unique_fd.h"
#include "ring/shm/segment.h"
#include "ring/transport/address.h"
#include "ring/transport/meeting/doorman.h"
#include "ring/transport/mesh.h"
#include "ring/transport/tcp/options.h"

namespace ring::transport {

struct ListenOptions {
  ListenOptions() = default;
  ListenOptions(std::string address, std::string wish, std::string identity)
      : host(std::move(address)), transport(std::move(wish)), host_id(std::move(identity)) {}

  std::string host;                // numeric address to bind and to publish
  std::string transport = "auto";  // auto, shm or tcp
  std::string host_id;             // who can share memory: equal ids; empty: this machine's own
  std::string folder;              // for shared memory where there is no memfd; empty: none
  tcp::TcpOptions tcp;
};

struct ConnectOptions {
  int rank = 0;
  std::vector<std::string> addresses;  // what Listener::address gave, by rank
  std::string run_id;
  std::uint64_t generation = 0;
  std::string secret;              // 32 random bytes, of this run alone
  std::vector<std::string> hosts;  // names for messages, by rank; empty: the numeric addresses
  Deadline deadline = Deadline::after(60);
  shm::SegmentOptions segment;      // of the memory that ranks of one host share; local_size is found out
  double stranger_timeout_s = 5.0;  // how long a visitor may take to prove itself
  std::function<bool()> cancelled;  // asked all the time; true gives up with kAborted
};

class Listener {
 public:
  [[nodiscard]] static Result<Listener> open(const ListenOptions& options);

  // Opaque bytes for all other ranks; at most 1 KB.
  [[nodiscard]] std::string address() const { return encode_address(address_); }

  // Meets all ranks; see meet() for the failures, and kInvalidArgument for options that cannot be. The
  // listener is closed afterwards, whatever came of it: a next generation opens a new one. Its TCP port lives
  // on in the extender of the mesh.
  [[nodiscard]] Result<Mesh> connect(const ConnectOptions& options);

  // Connections that were refused during `connect`.
  [[nodiscard]] const Refusals& refusals() const noexcept { return refusals_; }

  void close() noexcept;

 private:
  explicit Listener(Address address) : address_(std::move(address)) {}
  [[nodiscard]] Status take_tcp_options(const tcp::TcpOptions& options);
  [[nodiscard]] Status open_tcp(const ListenOptions& options);
  [[nodiscard]] Status open_unix(const ListenOptions& options);
  [[nodiscard]] Status check(const ConnectOptions& options) const;

  Address address_;
  UniqueFd tcp_;
  UniqueFd unix_;
  std::string folder_;
  unsigned scope_ = 0;  // of a link-local address
  int socket_buffer_bytes_ = 0;
  Refusals refusals_;
};

}  // namespace ring::transport
