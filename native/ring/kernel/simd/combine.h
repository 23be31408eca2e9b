// The two element-wise loops: over all inputs at once, and one step of a ring between two types. Sums stay in
// registers. Pure; any thread.
#pragma once

#include "ring/kernel/loops.h"
#include "ring/kernel/simd/format.h"
#include "ring/kernel/simd/operators.h"

namespace ring::kernel::RING_ISA {
namespace {

constexpr std::size_t kBlock = 4;  // vectors

RING_INLINE Floats rescale(Floats v, const Factors& factors) {
  return scale_in_double(v, factors.factor);
}
RING_INLINE Doubles rescale(Doubles v, const Factors& factors) {
  return factors.divides ? v / factors.divisor : v * factors.factor;
}

template <typename Stored>
using ValueOf = typename Format<Stored>::Value;

template <typename Stored>
RING_INLINE Vector<ValueOf<Stored>> load_scaled(const std::byte* at, ValueOf<Stored> factor) {
  const auto v = Format<Stored>::load(at);
  if constexpr (Format<Stored>::kReal) {
    return v * factor;
  } else {
    return v;
  }
}

template <typename Stored, typename V>
RING_INLINE void store_scaled(std::byte* at, V v, const Factors& factors) {
  if constexpr (Format<Stored>::kReal) {
    if (factors.scales) v = rescale(v, factors);
  }
  Format<Stored>::store(at, v);
}

// The `num` elements at the end that fill no vector, moved to and from a whole one.
template <typename Stored>
struct Tail {
  alignas(64) std::byte bytes[kVectorBytes] = {};
  RING_INLINE const std::byte* take(const std::byte* at, std::size_t num) {
    __builtin_memcpy(bytes, at, num * Format<Stored>::kBytes);
    return bytes;
  }
};

// Copies of what a loop reads, which its stores to `out` cannot change.
template <typename From>
struct Source {
  Inputs inputs;
  ValueOf<From> first;
  ValueOf<From> others;
  Factors factors;
};

template <typename Stored, bool kScaled>
RING_INLINE Vector<ValueOf<Stored>> load_maybe(const std::byte* at, ValueOf<Stored> factor) {
  if constexpr (kScaled) return load_scaled<Stored>(at, factor);
  return Format<Stored>::load(at);
}

template <typename From, typename To, typename Op, std::size_t kVectors, bool kScaled>
RING_INLINE void combine_block(const Source<From>& source, std::size_t i, std::byte* out) {
  constexpr std::size_t kStride = kLanes<ValueOf<From>> * Format<From>::kBytes;
  constexpr std::size_t kOutStride = kLanes<ValueOf<To>> * Format<To>::kBytes;
  const std::size_t offset = (source.inputs.begin + i) * Format<From>::kBytes;
  Vector<ValueOf<From>> sums[kVectors];
  const std::byte* at = source.inputs.data[0] + offset;
  for (std::size_t v = 0; v < kVectors; ++v)
    sums[v] = load_maybe<From, kScaled>(at + v * kStride, source.first);
  for (int k = 1; k < source.inputs.num; ++k) {
    at = source.inputs.data[k] + offset;
    for (std::size_t v = 0; v < kVectors; ++v) {
      sums[v] = Op::apply(sums[v], load_maybe<From, kScaled>(at + v * kStride, source.others));
    }
  }
  std::byte* to = out + i * Format<To>::kBytes;
  for (std::size_t v = 0; v < kVectors; ++v) store_scaled<To>(to + v * kOutStride, sums[v], source.factors);
}

// The elements from `i` on, too few for a vector.
template <typename From, typename To, typename Op>
RING_INLINE void combine_tail(const Source<From>& source, std::size_t i, std::byte* out, std::size_t num) {
  Tail<From> tail;
  Tail<To> result;
  const std::size_t offset = (source.inputs.begin + i) * Format<From>::kBytes;
  auto sum = load_scaled<From>(tail.take(source.inputs.data[0] + offset, num), source.first);
  for (int k = 1; k < source.inputs.num; ++k) {
    const std::byte* values = tail.take(source.inputs.data[k] + offset, num);
    sum = Op::apply(sum, load_scaled<From>(values, source.others));
  }
  store_scaled<To>(result.bytes, sum, source.factors);
  __builtin_memcpy(out + i * Format<To>::kBytes, result.bytes, num * Format<To>::kBytes);
}

template <typename From, typename To, typename Op, bool kScaled>
void combine_blocks(const Source<From>& given, std::byte* out, std::size_t count) {
  constexpr std::size_t kStep = kLanes<ValueOf<From>>;
  const Source<From> source = given;
  std::size_t i = 0;
  for (; i + kBlock * kStep <= count; i += kBlock * kStep) {
    combine_block<From, To, Op, kBlock, kScaled>(source, i, out);
  }
  for (; i + kStep <= count; i += kStep) combine_block<From, To, Op, 1, kScaled>(source, i, out);
  if (i < count) combine_tail<From, To, Op>(source, i, out, count - i);
}

template <typename From, typename To, typename Op>
void combine_elements(const Inputs& inputs, std::byte* out, std::size_t count, const Factors& factors) {
  const Source<From> source{inputs, static_cast<ValueOf<From>>(factors.first),
                            static_cast<ValueOf<From>>(factors.others), factors};
  if (factors.first == 1 && factors.others == 1) {
    return combine_blocks<From, To, Op, false>(source, out, count);
  }
  combine_blocks<From, To, Op, Format<From>::kReal>(source, out, count);
}

// What a ring step folds between two types: `partial` and `out` of type Wire, `own` of type Own.
struct Step {
  const std::byte* partial;
  const std::byte* own;
  std::byte* out;
  double pre;
};

template <typename Wire, typename Own, typename Op>
RING_INLINE void fold_vector(const std::byte* partial, const std::byte* own, std::byte* out,
                             ValueOf<Own> pre) {
  Format<Wire>::store(out, Op::apply(Format<Wire>::load(partial), load_scaled<Own>(own, pre)));
}

template <typename Wire, typename Own, typename Op>
void fold_elements(const Step& given, std::size_t count) {
  constexpr std::size_t kStep = kLanes<ValueOf<Own>>;
  constexpr std::size_t kWire = Format<Wire>::kBytes;
  constexpr std::size_t kOwn = Format<Own>::kBytes;
  const Step step = given;
  const auto pre = static_cast<ValueOf<Own>>(step.pre);
  std::size_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    fold_vector<Wire, Own, Op>(step.partial + i * kWire, step.own + i * kOwn, step.out + i * kWire, pre);
  }
  if (i == count) return;
  Tail<Wire> partial;
  Tail<Own> own;
  partial.take(step.partial + i * kWire, count - i);
  own.take(step.own + i * kOwn, count - i);
  fold_vector<Wire, Own, Op>(partial.bytes, own.bytes, partial.bytes, pre);
  __builtin_memcpy(step.out + i * kWire, partial.bytes, (count - i) * kWire);
}

}  // namespace
}  // namespace ring::kernel::RING_ISA
