// Link: the byte seam. One ordered, reliable stream each way to one peer, with a lifeline beside it.
// Owner: the Mesh. Thread-safety: none; after connecting, only the progress thread of the communicator
// touches a link, except for `wake fds` that other threads write to.
#pragma once

#include <poll.h>  // for pollfd

#include <cstddef>      // for size_t
#include <memory>       // for unique_ptr
#include <string>       // for string
#include <string_view>  // for string_view
#include <vector>       // for vector

#include "ring/base/bytes.h"
#include "ring/base/deadline.h"
#include "ring/base/status.h"

namespace ring::transport {

// What a waiter hopes for, as bits.
enum Interest : unsigned { kNone = 0, kCanRecv = 1, kCanSend = 2 };

class Link {
 public:
  Link() = default;
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  virtual ~Link() = default;  // closes; never blocks

  [[nodiscard]] virtual int peer() const noexcept = 0;
  [[nodiscard]] virtual std::string_view transport() const noexcept = 0;  // "inproc", "shm", "tcp"

  // Move what fits now and return how many bytes that was; 0 means it would block.
  // kPeerLost when the peer is gone, or what the peer said in its abort.
  [[nodiscard]] virtual Result<std::size_t> send_some(Bytes bytes) = 0;
  [[nodiscard]] virtual Result<std::size_t> recv_some(MutableBytes bytes) = 0;

  // Gets ready to sleep: appends the descriptors to poll (always the lifeline too, interest or not) and makes
  // the peer ring the bell when `interest` is met. True: it is met already, do not sleep.
  [[nodiscard]] virtual bool arm(unsigned interest, std::vector<pollfd>& fds) = 0;

  // After a poll: drains bells and reads the lifeline. kPeerLost when it is closed, the peer's cause when it
  // aborted. A peer that left in order (its `close`) is no failure until somebody needs it.
  [[nodiscard]] virtual Status check() = 0;

  // Best effort, never blocks: tells the peer why this rank ends.
  virtual void send_abort(const Status& cause) noexcept = 0;

  // Leaves in order: tells the peer, so that it does not take the closing for a death.
  virtual void close() noexcept = 0;
};

// Links to all peers, by rank; the own place is null.
struct Mesh {
  int rank = 0;
  int size = 1;
  std::vector<std::string> hosts;    // by rank, for messages
  std::vector<std::string> reasons;  // by rank, why this transport was chosen; may be empty
  std::vector<std::unique_ptr<Link>> links;
};

struct Want {
  int peer;
  unsigned interest;
};

// Waits until one of the wants may be met, a peer fails, `extra_fd` (or -1) becomes readable, or the deadline
// passes. Watches every lifeline of the mesh. Returns true when woken, false at the deadline.
[[nodiscard]] Result<bool> wait_any(Mesh& mesh, const std::vector<Want>& wants, int extra_fd,
                                    Deadline deadline);

}  // namespace ring::transport
