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

RING_INLINE double double_from(std::int64_t bits) {
  double value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
RING_INLINE std::int64_t bits_of(double value) {
  std::int64_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}

// sums[i] / divisor for |sums[i]| < 2^51: the rounded float64 quotient cannot reach the next integer, which
// lies at least 1 / divisor away. Without conversions between int64 and double, which few instruction sets
// have.
template <typename T>
void divide_small(const std::int64_t* sums, T* quotients, std::size_t length, double divisor) {
  for (std::size_t i = 0; i < length; ++i) {
    const double quotient = (double_from(sums[i] + kMagicBits) - kMagic) / divisor;
    const double counted = quotient + kMagic;
    const double nearest = counted - kMagic;
    const std::int64_t above = nearest > quotient && quotient > 0 ? 1 : 0;
    const std::int64_t below = nearest < quotient && quotient < 0 ? 1 : 0;
    quotients[i] = static_cast<T>(bits_of(counted) - kMagicBits - above + below);
  }
}

constexpr std::int64_t kSmall = std::int64_t{1} << 51;

RING_INLINE bool all_small(const std::int64_t* sums, std::size_t length, std::int64_t*) {
  std::int64_t seen = 0;
  for (std::size_t i = 0; i < length; ++i) seen |= sums[i] ^ (sums[i] >> 63);
  return seen < kSmall;
}

// The same for int128; what is small is also put into `narrow`.
RING_INLINE bool all_small(const Int128* sums, std::size_t length, std::int64_t* narrow) {
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < length; ++i) {
    narrow[i] = static_cast<std::int64_t>(sums[i]);
    seen |= static_cast<std::uint64_t>(narrow[i] ^ (narrow[i] >> 63));
    seen |= static_cast<std::uint64_t>(static_cast<std::int64_t>(sums[i] >> 64) ^ (narrow[i] >> 63));
  }
  return seen < static_cast<std::uint64_t>(kSmall);
}

RING_INLINE const std::int64_t* narrowed(const std::int64_t* sums, const std::int64_t*) {
  return sums;
}
RING_INLINE const std::int64_t* narrowed(const Int128*, const std::int64_t* narrow) {
  return narrow;
}

template <typename T, typename Wide>
void divide_elements(const std::byte* in, std::byte* out, std::size_t count, std::int64_t divisor) {
  Wide sums[kTile];
  std::int64_t narrow[kTile];
  T quotients[kTile];
  for (std::size_t done = 0; done < count; done += kTile) {
    const std::size_t length = tile_length(count - done);
    __builtin_memcpy(sums, in + done * sizeof(Wide), length * sizeof(Wide));
    if (all_small(sums, length, narrow)) {
      divide_small(narrowed(sums, narrow), quotients, length, static_cast<double>(divisor));
    } else {
      for (std::size_t i = 0; i < length; ++i) quotients[i] = static_cast<T>(sums[i] / divisor);
    }
    __builtin_memcpy(out + done * sizeof(T), quotients, length * sizeof(T));
  }
}

}  // namespace
}  // namespace ring::kernel::RING_ISA
