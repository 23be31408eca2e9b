// Lifeline: the control connection to one peer. Whoever holds its other end lives; what comes through it is
// bells, a farewell, or the reason why the peer gave up. Owner: the Link. Thread-safety: none.
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

  // Appends the descriptors whose readability means "call check()".
  void watch(std::vector<pollfd>& fds) const;

  // Reads what came. The first cause stays: later calls return the same failure. Orderly leave is success.
  [[nodiscard]] Status check();

  // The failure that check() found, or kPeerLost when the peer has left in order: for who still needs it.
  [[nodiscard]] Status usable() const;
  [[nodiscard]] bool left() const noexcept { return left_; }

  // Makes this end take the peer for lost, because of what its data looked like.
  Status fail(const std::string& what);

  // All three are best effort and never block.
  void ring_bell() noexcept;
  void send_abort(const Status& cause) noexcept;
  void close() noexcept;

 private:
  bool drain();  // true when anything came
  void take_frames();
  void take_end(std::string how);
  void take_failure(const std::string& how);
  [[nodiscard]] Status lost(const std::string& how) const;
  void send(const std::string& frame) noexcept;

  UniqueFd control_;
  UniqueFd process_;
  int peer_;
  std::string host_;
  FrameReader frames_;
  Status failure_;
  bool left_ = false;   // said bye
  bool ended_ = false;  // nothing more will come
};

}  // namespace ring::transport
