// Means of integers: sums in int64 or int128, and their quotients, rounded toward zero. Plain loops over
// tiles in the first-level cache, which the compiler makes vectors of. Pure; any thread.
#pragma once

#include "ring/kernel/loops.h"
#include "ring/kernel/simd/vector.h"

namespace ring::kernel::RING_ISA {
namespace {

__extension__ typedef __int128 Int128;

constexpr std::size_t kTile = 256;  // elements

RING_INLINE std::size_t tile_length(std::size_t left) {
  return left < kTile ? left : kTile;
}

template <typename T>
RING_INLINE T load_one(const std::byte* data, std::size_t index) {
  T value;
  __builtin_memcpy(&value, data + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T, typename Wide>
void sum_elements(const Inputs& given, std::byte* out, std::size_t count) {
  const Inputs inputs = given;
  Wide sums[kTile];
  for (std::size_t done = 0; done < count; done += kTile) {
    const std::size_t length = tile_length(count - done);
    const std::size_t offset = (inputs.begin + done) * sizeof(T);
    for (std::size_t i = 0; i < length; ++i) sums[i] = load_one<T>(inputs.data[0] + offset, i);
    for (int k = 1; k < inputs.num; ++k) {
      const std::byte* data = inputs.data[k] + offset;
      for (std::size_t i = 0; i < length; ++i) sums[i] += load_one<T>(data, i);
    }
    __builtin_memcpy(out + done * sizeof(Wide), sums, length * sizeof(Wide));
  }
}

template <typename T, typename Wide>
void add_elements(const std::byte* partial, const std::byte* own, std::byte* out, std::size_t count) {
  Wide sums[kTile];
  for (std::size_t done = 0; done < count; done += kTile) {
    const std::size_t length = tile_length(count - done);
    __builtin_memcpy(sums, partial + done * sizeof(Wide), length * sizeof(Wide));
    for (std::size_t i = 0; i < length; ++i) sums[i] += load_one<T>(own + done * sizeof(T), i);
    __builtin_memcpy(out + done * sizeof(Wide), sums, length * sizeof(Wide));
  }
}

constexpr double kMagic = 0x1.8p52;  // a double this large counts in ones: its low bits are an integer
constexpr std::int64_t kMagicBits = 0x4338000000000000;

// sums[i] / divisor, in place, for |sums[i]| < 2^51 and divisors below 2^31. Without conversions between
// int64 and float64, which few instruction sets have. The nearest integer to the approximate quotient is at
// most one too far from zero, which the exact remainder shows.
void divide_small(std::int64_t* sums, std::size_t length, double divisor) {
  const double inverse = 1 / divisor;
  for (std::size_t i = 0; i < length; i += kLanes<double>) {
    auto* at = reinterpret_cast<std::byte*>(sums + i);
    const Doubles sum = (Doubles)(load_vector<Longs>(at) + kMagicBits) - kMagic;
    const Doubles counted = sum * inverse + kMagic;
    const Doubles remainder = sum - (counted - kMagic) * divisor;
    const Longs above = (sum > 0.0) & (remainder < 0.0);  // -1 where true
    const Longs below = (sum < 0.0) & (remainder > 0.0);
    store_vector(at, (Longs)counted - kMagicBits + above - below);
  }
}

constexpr std::int64_t kSmall = std::int64_t{1} << 51;

// Whether all are small; then they are (also) in `narrow`.
RING_INLINE bool all_small(const std::int64_t* sums, std::size_t length, std::int64_t* narrow) {
  std::int64_t seen = 0;
  for (std::size_t i = 0; i < length; ++i) {
    narrow[i] = sums[i];
    seen |= sums[i] ^ (sums[i] >> 63);
  }
  return seen < kSmall;
}
RING_INLINE bool all_small(const Int128* sums, std::size_t length, std::int64_t* narrow) {
  std::int64_t seen = 0;
  std::int64_t signs = 0;  // of upper halves that are not the sign of the lower one
  for (std::size_t i = 0; i < length; ++i) {
    narrow[i] = static_cast<std::int64_t>(sums[i]);
    const std::int64_t sign = narrow[i] >> 63;
    seen |= narrow[i] ^ sign;
    signs |= static_cast<std::int64_t>(sums[i] >> 64) ^ sign;
  }
  return seen < kSmall && signs == 0;
}

template <typename T, typename Wide>
void divide_elements(const std::byte* in, std::byte* out, std::size_t count, std::int64_t divisor) {
  Wide sums[kTile];
  std::int64_t narrow[kTile] = {};  // whole vectors are divided, also where a tile is short
  T quotients[kTile];
  for (std::size_t done = 0; done < count; done += kTile) {
    const std::size_t length = tile_length(count - done);
    __builtin_memcpy(sums, in + done * sizeof(Wide), length * sizeof(Wide));
    if (all_small(sums, length, narrow)) {
      divide_small(narrow, length, static_cast<double>(divisor));
      for (std::size_t i = 0; i < length; ++i) quotients[i] = static_cast<T>(narrow[i]);
    } else {
      for (std::size_t i = 0; i < length; ++i) quotients[i] = static_cast<T>(sums[i] / divisor);
    }
    __builtin_memcpy(out + done * sizeof(T), quotients, length * sizeof(T));
  }
}

}  // namespace
}  // namespace ring::kernel::RING_ISA
