// MemoryLink: a Link over two byte rings in memory that both ends reach, with a socket as bell: a byte in it
// means "look at the rings", its end is the end of the stream.
// Owner: the Mesh. Thread-safety: as Link.
#pragma once

#include <memory>  // for shared_ptr

#include "ring/base/unique_fd.h"
#include "ring/transport/byte_ring.h"
#include "ring/transport/link.h"

namespace ring::transport {

// The two directions as one end sees them; `owner` keeps the memory mapped.
struct RingEnds {
  std::shared_ptr<void> owner;
  RingMemory out;
  RingMemory in;
  UniqueFd bell;  // one end of a connected, non-blocking pair of sockets
};

class MemoryLink final : public Link {
 public:
  // `transport` is a literal.
  MemoryLink(const char* transport, int peer, RingEnds ends);
  ~MemoryLink() override = default;

  [[nodiscard]] int peer() const noexcept override { return peer_; }
  [[nodiscard]] std::string_view transport() const noexcept override { return transport_; }
  [[nodiscard]] Result<std::size_t> send_some(Bytes bytes) override;
  [[nodiscard]] Result<std::size_t> recv_some(MutableBytes bytes) override;
  [[nodiscard]] bool ended() const noexcept override { return ended_; }
  [[nodiscard]] bool arm(unsigned interest, std::vector<pollfd>& fds) override;
  void close() noexcept override;

 private:
  void ring_bell() const noexcept;
  void drain_bell() noexcept;
  [[nodiscard]] Status impossible() const;

  const char* transport_;
  int peer_;
  std::shared_ptr<void> owner_;
  RingProducer out_;
  RingConsumer in_;
  UniqueFd bell_;
  bool ended_ = false;
};

}  // namespace ring::transport
