#include "ring/transport/inproc/pair.h"

#include <sys/socket.h>  // for socketpair

#include <cerrno>  // for errno
#include <new>     // for align_val_t

#include "ring/transport/memory_link.h"

namespace ring::transport::inproc {
namespace {

std::shared_ptr<void> aligned_memory(std::size_t bytes) {
  const std::align_val_t alignment{kCacheLine};
  return {::operator new(bytes, alignment),
          [alignment](void* memory) { ::operator delete(memory, alignment); }};
}

}  // namespace

Result<std::pair<UniqueFd, UniqueFd>> socket_pair() {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) {
    return Status::system("socketpair", errno);
  }
  return std::pair(UniqueFd(ends[0]), UniqueFd(ends[1]));
}

Result<LinkPair> link_pair(int one, int two, std::size_t ring_bytes) {
  auto bells = socket_pair();
  if (!bells) return bells.status();
  const auto memory = aligned_memory(pair_bytes(ring_bytes));
  const RingPair rings = build_pair(static_cast<std::byte*>(memory.get()), ring_bytes);
  return LinkPair(
      std::make_unique<MemoryLink>(
          "inproc", two, RingEnds{memory, rings.upper, rings.lower, std::move(bells.value().first)}),
      std::make_unique<MemoryLink>(
          "inproc", one, RingEnds{memory, rings.lower, rings.upper, std::move(bells.value().second)}));
}

}  // namespace ring::transport::inproc
