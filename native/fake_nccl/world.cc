#include "fake_nccl/world.h"

#include <fcntl.h>     // for open
#include <sys/mman.h>  // for mmap, munmap
#include <unistd.h>    // for close, ftruncate, unlink, usleep

#include <algorithm>  // for min
#include <cstring>    // for memcpy, strncpy
#include <utility>    // for move

#include "fake_nccl/injection.h"

namespace fake {
namespace {

std::string path_of(const std::string& name) {
  return setting("FAKE_NCCL_DIR", "/dev/shm") + "/fake-nccl-" + name;
}

std::size_t bytes_of(int size) {
  const auto ranks = static_cast<std::size_t>(size);
  const std::size_t seats = (ranks * sizeof(Seat) + 4095) / 4096 * 4096;
  return seats + ranks * ranks * sizeof(Mailbox);
}

// Both give the number of bytes moved.
std::size_t push(Mailbox& box, const std::byte* data, std::size_t bytes) {
  const auto written = box.written.load(std::memory_order_relaxed);
  const std::size_t room = kMailBytes - (written - box.read.load(std::memory_order_acquire));
  const std::size_t at = written % kMailBytes;
  const std::size_t moved = std::min({bytes, room, kMailBytes - at});
  std::memcpy(box.data + at, data, moved);
  box.written.store(written + moved, std::memory_order_release);
  return moved;
}

std::size_t pull(Mailbox& box, std::byte* data, std::size_t bytes) {
  const auto read = box.read.load(std::memory_order_relaxed);
  const std::size_t there = box.written.load(std::memory_order_acquire) - read;
  const std::size_t at = read % kMailBytes;
  const std::size_t moved = std::min({bytes, there, kMailBytes - at});
  std::memcpy(data, box.data + at, moved);
  box.read.store(read + moved, std::memory_order_release);
  return moved;
}

// Messages of one direction. Only the first unfinished one of each peer moves.
template <typename Move>
bool advance(std::vector<Span>& spans, const Move& move) {
  bool moved = false;
  std::vector<bool> behind(kMostRanks, false);
  for (auto& span : spans) {
    if (span.bytes == 0 || behind[static_cast<std::size_t>(span.peer)]) continue;
    const std::size_t bytes = move(span);
    span.data += bytes;
    span.bytes -= bytes;
    moved = moved || bytes > 0;
    behind[static_cast<std::size_t>(span.peer)] = span.bytes > 0;
  }
  return moved;
}

bool finished(const std::vector<Span>& spans) {
  return std::all_of(spans.begin(), spans.end(), [](const Span& span) { return span.bytes == 0; });
}

}  // namespace

World::World(std::string name, int size, void* memory, std::size_t bytes)
    : name_(std::move(name)), size_(size), memory_(memory), bytes_(bytes) {
  auto* start = static_cast<std::byte*>(memory);
  seats_ = reinterpret_cast<Seat*>(start);
  mailboxes_ = reinterpret_cast<Mailbox*>(
      start + bytes - static_cast<std::size_t>(size) * static_cast<std::size_t>(size) * sizeof(Mailbox));
}

World::~World() {
  ::munmap(memory_, bytes_);
}

std::shared_ptr<World> World::join(const std::string& name, int size, int rank, const std::string& pci) {
  const std::string path = path_of(name);
  const std::size_t bytes = bytes_of(size);
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return nullptr;
  void* memory = MAP_FAILED;
  if (::ftruncate(fd, static_cast<off_t>(bytes)) == 0) {
    memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  ::close(fd);
  if (memory == MAP_FAILED) return nullptr;
  std::shared_ptr<World> world(new World(name, size, memory, bytes));
  std::strncpy(world->seat(rank).pci, pci.c_str(), sizeof(Seat::pci) - 1);
  world->seat(rank).taken.store(1, std::memory_order_release);
  return world;
}

bool World::complete() {
  for (int rank = 0; rank < size_; ++rank) {
    if (seat(rank).taken.load(std::memory_order_acquire) == 0) return false;
  }
  unlink();
  return true;
}

void World::unlink() {
  ::unlink(path_of(name_).c_str());
}

bool World::exchange(int rank, std::vector<Span> sends, std::vector<Span> receives,
                     const std::atomic<bool>& stop) {
  while (!finished(sends) || !finished(receives)) {
    const bool sent =
        advance(sends, [&](const Span& s) { return push(mailbox(rank, s.peer), s.data, s.bytes); });
    const bool received =
        advance(receives, [&](const Span& s) { return pull(mailbox(s.peer, rank), s.data, s.bytes); });
    if (sent || received) continue;
    if (stop.load(std::memory_order_acquire)) return false;
    ::usleep(20);
  }
  return true;
}

}  // namespace fake
