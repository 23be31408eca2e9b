#include "ring/transport/memory_link.h"

#include <sys/socket.h>  // for recv, send

#include <array>    // for array
#include <cerrno>   // for errno
#include <string>   // for to_string
#include <utility>  // for move

namespace ring::transport {

MemoryLink::MemoryLink(const char* transport, int peer, RingEnds ends)
    : transport_(transport),
      peer_(peer),
      owner_(std::move(ends.owner)),
      out_(ends.out),
      in_(ends.in),
      bell_(std::move(ends.bell)) {}

Result<std::size_t> MemoryLink::send_some(Bytes bytes) {
  if (ended_) return std::size_t{0};
  const auto moved = out_.put(bytes);
  if (!moved) return impossible();
  if (moved->wake_peer) ring_bell();
  return moved->bytes;
}

Result<std::size_t> MemoryLink::recv_some(MutableBytes bytes) {
  if (!bell_.valid()) return std::size_t{0};
  const auto moved = in_.take(bytes);  // also at the end: who leaves leaves its last bytes in the ring
  if (!moved) return impossible();
  if (moved->wake_peer) ring_bell();
  return moved->bytes;
}

bool MemoryLink::arm(unsigned interest, std::vector<pollfd>& fds) {
  if (interest == kNone || !bell_.valid()) return false;
  const bool known = ended_;
  drain_bell();
  if (ended_ && !known) return true;  // the next move tells what there is left
  const bool can_recv = (interest & kCanRecv) != 0 && in_.arm();
  const bool can_send = (interest & kCanSend) != 0 && !ended_ && out_.arm();
  if (!ended_) fds.push_back({bell_.get(), POLLIN, 0});
  return can_recv || can_send;
}

void MemoryLink::close() noexcept {
  bell_.reset();
  ended_ = true;
}

void MemoryLink::ring_bell() const noexcept {
  const char bell = 1;
  // A full socket is no error: its reader has enough to wake it.
  (void)!::send(bell_.get(), &bell, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void MemoryLink::drain_bell() noexcept {
  std::array<char, 256> piece;
  while (!ended_) {
    const ssize_t got = ::recv(bell_.get(), piece.data(), piece.size(), MSG_DONTWAIT);
    if (got > 0 || (got < 0 && errno == EINTR)) continue;
    ended_ = got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
    return;
  }
}

Status MemoryLink::impossible() const {
  return {Code::kPeerLost,
          "rank " + std::to_string(peer_) + " is lost: it wrote impossible positions into the shared memory",
          peer_};
}

}  // namespace ring::transport
