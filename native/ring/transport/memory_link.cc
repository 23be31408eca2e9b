#include "ring/transport/memory_link.h"

#include <utility>  // for move

namespace ring::transport {
namespace {

constexpr const char* kImpossible = "it wrote impossible positions into the shared memory";

}  // namespace

MemoryLink::MemoryLink(const char* transport, Lifeline lifeline, RingEnds ends)
    : transport_(transport),
      lifeline_(std::move(lifeline)),
      owner_(std::move(ends.owner)),
      out_(ends.out),
      in_(ends.in) {}

Result<std::size_t> MemoryLink::send_some(Bytes bytes) {
  RING_TRY(lifeline_.usable());
  const auto moved = out_.put(bytes);
  if (!moved) return lifeline_.fail(kImpossible);
  if (moved->wake_peer) lifeline_.ring_bell();
  return moved->bytes;
}

Result<std::size_t> MemoryLink::recv_some(MutableBytes bytes) {
  // Who left in order leaves its last bytes in the ring, so `usable` is asked only when the ring is empty. It
  // was written to before the farewell was sent: an empty ring after a known farewell stays empty.
  if (!lifeline_.left()) RING_TRY(lifeline_.usable());
  const auto moved = in_.take(bytes);
  if (!moved) return lifeline_.fail(kImpossible);
  if (moved->wake_peer) lifeline_.ring_bell();
  if (moved->bytes == 0 && bytes.size > 0) RING_TRY(lifeline_.usable());
  return moved->bytes;
}

bool MemoryLink::arm(unsigned interest, std::vector<pollfd>& fds) {
  lifeline_.watch(fds);
  if (interest == kNone) return false;
  if (!lifeline_.usable().is_ok()) return true;  // the next move tells why
  const bool can_recv = (interest & kCanRecv) != 0 && in_.arm();
  const bool can_send = (interest & kCanSend) != 0 && out_.arm();
  return can_recv || can_send;
}

}  // namespace ring::transport
