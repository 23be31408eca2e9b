// ByteRing: one direction of bytes between one producer and one consumer, over memory both can write to.
// Thread-safety: one thread at each end. Neither end trusts the indices that the other one writes.
//
// Sleeping without lost wake-ups: who is about to sleep stores its `asleep` flag and then looks at the index
// once more; who moves bytes stores its index and then looks at the flag. All four are seq_cst, so at least
// one of the two sees the other. The flag is taken with an exchange: one bell for one sleep.
#pragma once

#include <atomic>    // for atomic
#include <cstddef>   // for byte, size_t
#include <cstdint>   // for uint64_t
#include <optional>  // for optional

#include "ring/base/bytes.h"

namespace ring::transport {

inline constexpr std::size_t kCacheLine = 64;

// Lies in shared memory; counts are totals since the start and never wrap in practice (2^64 bytes).
struct RingIndices {
  alignas(kCacheLine) std::atomic<std::uint64_t> written{0};
  alignas(kCacheLine) std::atomic<std::uint64_t> read{0};
  alignas(kCacheLine) std::atomic<std::uint32_t> reader_asleep{0};
  alignas(kCacheLine) std::atomic<std::uint32_t> writer_asleep{0};
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free &&
              std::atomic<std::uint32_t>::is_always_lock_free);

// Where a ring lies. `capacity` is a power of two.
struct RingMemory {
  RingIndices* indices = nullptr;
  std::byte* data = nullptr;
  std::size_t capacity = 0;
};

struct Moved {
  std::size_t bytes = 0;
  bool wake_peer = false;  // the peer sleeps: ring its bell
};

class RingProducer {
 public:
  explicit RingProducer(RingMemory memory) : memory_(memory) {}
  // Copies in what fits. No value: the consumer's index is impossible.
  [[nodiscard]] std::optional<Moved> put(Bytes bytes);
  // Announces sleep until there is room. True: there is room (or nonsense) already, do not sleep.
  [[nodiscard]] bool arm();

 private:
  [[nodiscard]] std::optional<std::size_t> room() const;
  RingMemory memory_;
  std::uint64_t written_ = 0;
};

class RingConsumer {
 public:
  explicit RingConsumer(RingMemory memory) : memory_(memory) {}
  // Copies out what is there. No value: the producer's index is impossible.
  [[nodiscard]] std::optional<Moved> take(MutableBytes bytes);
  // Announces sleep until there are bytes. True: there are some (or nonsense) already, do not sleep.
  [[nodiscard]] bool arm();

 private:
  [[nodiscard]] std::optional<std::size_t> filled() const;
  RingMemory memory_;
  std::uint64_t read_ = 0;
};

// Bytes that a pair of rings (one each way) needs. `capacity` is a power of two.
[[nodiscard]] std::size_t pair_bytes(std::size_t capacity);
// `upper` is the direction from the connecting end to the other, `lower` the way back.
struct RingPair {
  RingMemory upper;
  RingMemory lower;
};
// Where the rings lie in memory that begins at `base` (cache-line aligned). Writes nothing.
[[nodiscard]] RingPair find_pair(std::byte* base, std::size_t capacity);
// The same, with the indices set to nothing written and nothing read. Done once, by the end that made the
// memory.
[[nodiscard]] RingPair build_pair(std::byte* base, std::size_t capacity);

}  // namespace ring::transport
