// Lifeline: the control connection to one peer. Whoever holds its other end lives; what comes through it is a
// farewell, or the reason why some rank gave up. Data never goes here, so that words never queue behind it.
// Owner: the Watcher, before that the Mesh. Thread-safety: none.
#pragma once

#include <poll.h>  // for pollfd

#include <string>  // for string
#include <vector>  // for vector

#include "ring/base/status.h"
#include "ring/base/unique_fd.h"
#include "ring/transport/frames.h"

namespace ring::transport {

class Lifeline {
 public:
  // `control` is a connected, non-blocking stream socket; `process` a pidfd of the peer where one can be had
  // (a child that the peer forked keeps the socket open, so that only the pidfd tells of the peer's own end).
  Lifeline(UniqueFd control, int peer, std::string host, UniqueFd process = UniqueFd());

  [[nodiscard]] int peer() const noexcept { return peer_; }
  [[nodiscard]] const std::string& host() const noexcept { return host_; }

  // Appends the descriptors that mean "call check()" when poll reports them.
  void watch(std::vector<pollfd>& fds) const;

  // Reads what came and sends what waits. The first cause stays: later calls return the same failure, which
  // is kPeerLost or what the peer said in an abort. Orderly leave is success.
  [[nodiscard]] Status check();

  // All frames heard since the last call, in order; also those that made check() fail.
  [[nodiscard]] std::vector<Frame> take_frames();
  // kPeerLost when the connection or the process of the peer has ended without a farewell.
  [[nodiscard]] const Status& lost() const noexcept { return lost_; }
  // Said bye.
  [[nodiscard]] bool left() const noexcept { return left_; }

  // Both are best effort and never block; what does not fit into the socket waits for check().
  void send(const std::string& frame) noexcept;
  void close() noexcept;

 private:
  bool drain();  // true when anything came
  void read_frames();
  void take_end(std::string how);
  void take_loss(const std::string& how);
  void flush() noexcept;

  UniqueFd control_;
  UniqueFd process_;
  int peer_;
  std::string host_;
  FrameReader reader_;
  std::vector<Frame> heard_;
  std::string outbox_;
  Status failure_;
  Status lost_;
  bool left_ = false;
  bool ended_ = false;  // nothing more will come
};

// The failure of a rank that is gone: "rank 2 on host a is lost: ...".
[[nodiscard]] Status lost_rank(int rank, const std::string& host, const std::string& how);
// The same for one that left in order although it was still needed.
[[nodiscard]] Status left_rank(int rank, const std::string& host);

}  // namespace ring::transport
