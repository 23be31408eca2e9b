#include "ring/transport/inproc/group.h"

#include <sys/socket.h>  // for socketpair

#include <cerrno>   // for errno
#include <memory>   // for make_shared
#include <new>      // for align_val_t
#include <string>   // for string
#include <utility>  // for move, pair

#include "ring/transport/memory_link.h"

namespace ring::transport {
namespace {

constexpr const char* kHost = "this process";

std::shared_ptr<void> aligned_memory(std::size_t bytes) {
  const std::align_val_t alignment{kCacheLine};
  return {::operator new(bytes, alignment),
          [alignment](void* memory) { ::operator delete(memory, alignment); }};
}

Result<std::pair<UniqueFd, UniqueFd>> socket_pair() {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) {
    return Status::system("socketpair", errno);
  }
  return std::pair(UniqueFd(ends[0]), UniqueFd(ends[1]));
}

Status connect_pair(Mesh& low, Mesh& high, std::size_t ring_bytes) {
  auto words = socket_pair();
  if (!words) return words.status();
  auto bells = socket_pair();
  if (!bells) return bells.status();
  low.lifelines[static_cast<std::size_t>(high.rank)] =
      std::make_unique<Lifeline>(std::move(words.value().first), high.rank, kHost);
  high.lifelines[static_cast<std::size_t>(low.rank)] =
      std::make_unique<Lifeline>(std::move(words.value().second), low.rank, kHost);
  const auto memory = aligned_memory(pair_bytes(ring_bytes));
  const RingPair rings = build_pair(static_cast<std::byte*>(memory.get()), ring_bytes);
  low.links[static_cast<std::size_t>(high.rank)] = std::make_unique<MemoryLink>(
      "inproc", high.rank, RingEnds{memory, rings.lower, rings.upper, std::move(bells.value().first)});
  high.links[static_cast<std::size_t>(low.rank)] = std::make_unique<MemoryLink>(
      "inproc", low.rank, RingEnds{memory, rings.upper, rings.lower, std::move(bells.value().second)});
  return {};
}

}  // namespace

Result<std::vector<Mesh>> inproc_meshes(int size, std::size_t ring_bytes) {
  if (size < 1 || ring_bytes == 0 || (ring_bytes & (ring_bytes - 1)) != 0) {
    return Status(Code::kInvalidArgument, "inproc: size must be at least 1, ring_bytes a power of two");
  }
  const auto count = static_cast<std::size_t>(size);
  std::vector<Mesh> meshes(count);
  for (std::size_t rank = 0; rank < count; ++rank) {
    meshes[rank].rank = static_cast<int>(rank);
    meshes[rank].size = size;
    meshes[rank].hosts.assign(count, kHost);
    meshes[rank].links.resize(count);
    meshes[rank].lifelines.resize(count);
    meshes[rank].topology = plan::all_apart(size, static_cast<int>(rank));
  }
  for (std::size_t high = 1; high < count; ++high) {
    for (std::size_t low = 0; low < high; ++low)
      RING_TRY(connect_pair(meshes[low], meshes[high], ring_bytes));
  }
  return meshes;
}

}  // namespace ring::transport
