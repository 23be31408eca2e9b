// Link: the byte seam. One ordered, reliable stream each way to one peer; whether the peer lives is for its
// Lifeline to say. Owner: the Mesh. Thread-safety: none; after connecting, only the thread that executes a
// collective touches a link.
#pragma once

#include <poll.h>  // for pollfd

#include <cstddef>      // for size_t
#include <string_view>  // for string_view
#include <vector>       // for vector

#include "ring/base/bytes.h"
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

  // Move what fits now and return how many bytes that was; 0 means that it would block, or that the stream
  // has ended: then only the lifeline will say why. Fails when what the peer sent makes no sense.
  [[nodiscard]] virtual Result<std::size_t> send_some(Bytes bytes) = 0;
  [[nodiscard]] virtual Result<std::size_t> recv_some(MutableBytes bytes) = 0;

  // True once a move has found the end of the stream: what was asked for then will never come.
  [[nodiscard]] virtual bool ended() const noexcept = 0;

  // Gets ready to sleep: appends the descriptors to poll and makes the peer wake this end when `interest` is
  // met. True: it is met already, or the end has just been found: do not sleep. A stream whose end is known
  // adds nothing.
  [[nodiscard]] virtual bool arm(unsigned interest, std::vector<pollfd>& fds) = 0;

  virtual void close() noexcept = 0;
};

}  // namespace ring::transport
