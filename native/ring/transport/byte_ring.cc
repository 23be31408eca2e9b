#include "ring/transport/byte_ring.h"

#include <algorithm>  // for min
#include <cstring>    // for memcpy
#include <new>        // for launder, placement new

namespace ring::transport {
namespace {

// A flag is mostly down, so a plain load goes first: an exchange would take the cache line every time.
bool was_asleep(std::atomic<std::uint32_t>& flag) {
  return flag.load(std::memory_order_seq_cst) != 0 && flag.exchange(0, std::memory_order_seq_cst) != 0;
}

std::optional<std::size_t> distance(std::uint64_t written, std::uint64_t read, std::size_t capacity) {
  const std::uint64_t used = written - read;
  if (used > capacity) return std::nullopt;
  return static_cast<std::size_t>(used);
}

}  // namespace

std::optional<std::size_t> RingProducer::room() const {
  const auto used =
      distance(written_, memory_.indices->read.load(std::memory_order_seq_cst), memory_.capacity);
  if (!used) return std::nullopt;
  return memory_.capacity - *used;
}

std::optional<Moved> RingProducer::put(Bytes bytes) {
  const auto space = room();
  if (!space) return std::nullopt;
  const std::size_t count = std::min(*space, bytes.size);
  if (count == 0) return Moved{};
  const std::size_t start = static_cast<std::size_t>(written_) & (memory_.capacity - 1);
  const std::size_t first = std::min(count, memory_.capacity - start);
  std::memcpy(memory_.data + start, bytes.data, first);
  std::memcpy(memory_.data, bytes.data + first, count - first);
  written_ += count;
  memory_.indices->written.store(written_, std::memory_order_seq_cst);
  return Moved{count, was_asleep(memory_.indices->reader_asleep)};
}

bool RingProducer::arm() {
  memory_.indices->writer_asleep.store(1, std::memory_order_seq_cst);
  if (room() == std::optional<std::size_t>(0)) return false;
  memory_.indices->writer_asleep.store(0, std::memory_order_relaxed);
  return true;
}

std::optional<std::size_t> RingConsumer::filled() const {
  return distance(memory_.indices->written.load(std::memory_order_seq_cst), read_, memory_.capacity);
}

std::optional<Moved> RingConsumer::take(MutableBytes bytes) {
  const auto there = filled();
  if (!there) return std::nullopt;
  const std::size_t count = std::min(*there, bytes.size);
  if (count == 0) return Moved{};
  const std::size_t start = static_cast<std::size_t>(read_) & (memory_.capacity - 1);
  const std::size_t first = std::min(count, memory_.capacity - start);
  std::memcpy(bytes.data, memory_.data + start, first);
  std::memcpy(bytes.data + first, memory_.data, count - first);
  read_ += count;
  memory_.indices->read.store(read_, std::memory_order_seq_cst);
  return Moved{count, was_asleep(memory_.indices->writer_asleep)};
}

bool RingConsumer::arm() {
  memory_.indices->reader_asleep.store(1, std::memory_order_seq_cst);
  if (filled() == std::optional<std::size_t>(0)) return false;
  memory_.indices->reader_asleep.store(0, std::memory_order_relaxed);
  return true;
}

std::size_t pair_bytes(std::size_t capacity) {
  return 2 * (sizeof(RingIndices) + capacity);
}

RingPair find_pair(std::byte* base, std::size_t capacity) {
  auto* indices = std::launder(reinterpret_cast<RingIndices*>(base));
  std::byte* data = base + 2 * sizeof(RingIndices);
  return {{indices, data, capacity}, {indices + 1, data + capacity, capacity}};
}

RingPair build_pair(std::byte* base, std::size_t capacity) {
  new (base) RingIndices;
  new (base + sizeof(RingIndices)) RingIndices;
  return find_pair(base, capacity);
}

}  // namespace ring::transport
