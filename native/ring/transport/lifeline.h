// Lifeline: the control connection to one peer. Whoever holds its other end lives; what comes through it is a
// farewell, the reason why some rank gave up, and while the ranks meet what they need to agree on. Data never
// goes here, so that words never queue behind it.
// Owner: the Watcher, before that the Mesh. Thread-safety: none.
#pragma once

#include <poll.h>  // for pollfd

#include <string>  // for string
#include <vector>  // for vector

#include "ring/base/fork_guard.h"
#include "ring/base/status.h"
#include "ring/base/unique_fd.h"
#include "ring/transport/frames.h"
#include "ring/transport/stream.h"

namespace ring::transport {

class Lifeline {
 public:
  Lifeline(Stream control, int peer, std::string host);

  [[nodiscard]] int peer() const noexcept { return peer_; }
  [[nodiscard]] const std::string& host() const noexcept { return host_; }

  // Appends the descriptors that mean "call check()" when poll reports them.
  void watch(std::vector<pollfd>& fds) const;

  // Reads what came and sends what waits. The first cause stays: later calls return the same failure, which
  // is kPeerLost or what the peer said in an abort. Orderly leave is success.
  [[nodiscard]] Status check();

  // What was heard of aborts, byes and leaves since the last call, in order; also what made check() fail.
  [[nodiscard]] std::vector<Frame> take_frames();
  // kPeerLost when the connection or the process of the peer has ended without a farewell.
  [[nodiscard]] const Status& lost() const noexcept { return lost_; }
  [[nodiscard]] bool left() const noexcept { return left_; }          // said bye
  [[nodiscard]] bool is_ready() const noexcept { return is_ready_; }  // said kReady
  [[nodiscard]] bool may_go() const noexcept { return may_go_; }      // said kGo
  // The memory that came with kSegment, once; invalid before.
  [[nodiscard]] UniqueFd take_segment() noexcept { return std::move(segment_); }

  // Best effort, never blocks; what does not fit into the socket waits for check().
  void send(const std::string& frame) noexcept;
  // On Unix sockets, before anything waits: kProcess or kSegment with its descriptor, which is borrowed.
  [[nodiscard]] Status send_with(FrameKind kind, int descriptor);
  void close() noexcept;

 private:
  bool drain();  // true when anything came
  void read_frames();
  void take(Frame frame);
  void take_end(std::string how);
  void take_loss(const std::string& how);
  void flush() noexcept;

  Stream control_;
  // Where the kernel has pidfds: a process that a peer starts without our fork guard may keep its socket
  // open, so that only this tells of the peer's own end.
  GuardedFd process_;
  UniqueFd segment_;
  UniqueFd descriptor_;  // came with bytes, and belongs to the frame that is next
  int peer_;
  std::string host_;
  FrameReader reader_;
  std::vector<Frame> heard_;
  std::string outbox_;
  Status failure_;
  Status lost_;
  bool left_ = false;
  bool is_ready_ = false;
  bool may_go_ = false;
  bool ended_ = false;  // nothing more will come
};

// The failure of a rank that is gone: "rank 2 on host a is lost: ...".
[[nodiscard]] Status lost_rank(int rank, const std::string& host, const std::string& how);
// The same for one that left in order although it was still needed.
[[nodiscard]] Status left_rank(int rank, const std::string& host);

}  // namespace ring::transport
