#include "ring/kernel/reduce.h"

#include <algorithm>  // for min
#include <cstdint>    // for uintptr_t
#include <cstring>    // for memcpy

#include "ring/kernel/arithmetic.h"
#include "ring/kernel/choice.h"

namespace ring::kernel {
namespace {

constexpr std::size_t kTileBytes = 8192;
constexpr std::size_t kLine = 64;

bool is_wide(DType dtype) {
  return dtype == DType::kInt64 || dtype == DType::kInt128;
}

Factors factors_of(double first, double others, const Scaling& scaling) {
  const auto divisor = static_cast<double>(scaling.divisor);
  return {first,
          others,
          scaling.post / divisor,
          divisor / scaling.post,
          scaling.finishes(),
          scaling.divisor != 1};
}

bool is_integer_mean(DType dtype, ReduceOp op) {
  return op == ReduceOp::kMean && is_reducible(dtype) && !is_floating(dtype);
}

// Sums of one tile, then their quotients.
void integer_mean(DType dtype, const Inputs& inputs, std::byte* out, std::size_t count,
                  std::int64_t divisor) {
  alignas(kLine) std::byte sums[kTileBytes];
  const std::size_t most = kTileBytes / size_of(accumulator(dtype, ReduceOp::kMean));
  for (std::size_t done = 0; done < count; done += most) {
    const std::size_t length = std::min(most, count - done);
    loops().sum_wide(dtype, {inputs.data, inputs.num, inputs.begin + done}, sums, length);
    loops().quotient(dtype, sums, out + done * size_of(dtype), length, divisor);
  }
}

// Two sums of 64-bit integers.
void add_int128(const std::byte* one, const std::byte* other, std::byte* out, std::size_t count) {
  __extension__ typedef __int128 Int128;
  for (std::size_t i = 0; i < count; ++i) {
    Int128 a;
    Int128 b;
    std::memcpy(&a, one + i * sizeof a, sizeof a);
    std::memcpy(&b, other + i * sizeof b, sizeof b);
    a += b;  // of at most 2^64 values of 64 bits
    std::memcpy(out + i * sizeof a, &a, sizeof a);
  }
}

struct Reduction {
  DType dtype;
  ReduceOp op;
  Scaling scaling;
};

void combine_range(const Reduction& what, const Inputs& inputs, std::byte* out, std::size_t count) {
  if (is_integer_mean(what.dtype, what.op)) {
    return integer_mean(what.dtype, inputs, out, count, what.scaling.divisor);
  }
  const Factors factors = factors_of(what.scaling.pre, what.scaling.pre, what.scaling);
  loops().combine(what.dtype, what.dtype, what.op, inputs, out, count, factors);
}

// Tile by tile through the first-level cache; tiles end at lines of `out`, so that lines leave whole.
void combine_streaming(const Reduction& what, const std::byte* const* inputs, int num_inputs, std::byte* out,
                       std::size_t count) {
  alignas(kLine) std::byte tile[kTileBytes];
  const std::size_t size = size_of(what.dtype);
  const std::size_t to_line = (kLine - reinterpret_cast<std::uintptr_t>(out) % kLine) % kLine;
  std::size_t length = to_line > 0 ? to_line / size : kTileBytes / size;
  for (std::size_t done = 0; done < count; done += length, length = kTileBytes / size) {
    if (length > count - done) length = count - done;
    combine_range(what, {inputs, num_inputs, done}, tile, length);
    loops().stream(tile, out + done * size, length * size);
  }
}

}  // namespace

void combine(DType dtype, ReduceOp op, const std::byte* const* inputs, int num_inputs, std::byte* out,
             std::size_t count, const Scaling& scaling, Stores stores) noexcept {
  if (!is_reducible(dtype) || count == 0) return;
  const DefaultArithmetic arithmetic;
  const Reduction what{dtype, op, scaling};
  const bool whole_lines = reinterpret_cast<std::uintptr_t>(out) % size_of(dtype) == 0;
  if (stores == Stores::kStreaming && whole_lines) {
    return combine_streaming(what, inputs, num_inputs, out, count);
  }
  combine_range(what, {inputs, num_inputs, 0}, out, count);
}

void combine_wide(DType dtype, ReduceOp op, const std::byte* const* inputs, int num_inputs, std::byte* out,
                  std::size_t count, double pre) noexcept {
  const DefaultArithmetic arithmetic;
  const Inputs all{inputs, num_inputs, 0};
  if (is_integer_mean(dtype, op)) return loops().sum_wide(dtype, all, out, count);
  loops().combine(dtype, accumulator(dtype, op), op, all, out, count, factors_of(pre, pre, {}));
}

void fold(DType wire, DType own, ReduceOp op, const std::byte* partial, const std::byte* own_values,
          double pre, std::byte* out, std::size_t count) noexcept {
  const DefaultArithmetic arithmetic;
  if (wire == own && wire == DType::kInt128) return add_int128(partial, own_values, out, count);
  if (wire == own) {
    const std::byte* inputs[] = {partial, own_values};
    return loops().combine(own, own, op, {inputs, 2, 0}, out, count, factors_of(1, pre, {}));
  }
  if (is_wide(wire)) {
    if (wire == accumulator(own, op)) loops().add_wide(own, partial, own_values, out, count);
    return;
  }
  loops().fold(wire, own, op, partial, own_values, out, count, pre);
}

void convert(DType from, DType to, const std::byte* in, std::byte* out, std::size_t count,
             double factor) noexcept {
  finish(from, to, in, out, count, {1, factor, 1});
}

void finish(DType accumulator, DType to, const std::byte* in, std::byte* out, std::size_t count,
            const Scaling& scaling) noexcept {
  const DefaultArithmetic arithmetic;
  if (is_wide(accumulator) && kernel::accumulator(to, ReduceOp::kMean) == accumulator) {
    return loops().quotient(to, in, out, count, scaling.divisor);
  }
  loops().combine(accumulator, to, ReduceOp::kSum, {&in, 1, 0}, out, count, factors_of(1, 1, scaling));
}

void copy(const std::byte* in, std::byte* out, std::size_t bytes, Stores stores) noexcept {
  if (bytes == 0) return;
  if (stores == Stores::kStreaming) return loops().stream(in, out, bytes);
  std::memcpy(out, in, bytes);
}

bool needs_wide(DType dtype, ReduceOp op) noexcept {
  return accumulator(dtype, op) != dtype;
}

void fold(DType dtype, ReduceOp op, const std::byte* a, const std::byte* b, std::byte* out,
          std::size_t count) noexcept {
  fold(dtype, dtype, op, a, b, 1, out, count);
}

void divide(DType dtype, std::byte* data, std::size_t count, int divisor) noexcept {
  finish(dtype, dtype, data, data, count, {1, 1, divisor});
}

void combine(DType dtype, ReduceOp op, const std::vector<const std::byte*>& inputs, std::byte* out,
             std::size_t count) noexcept {
  const int num = static_cast<int>(inputs.size());
  combine(dtype, op, inputs.data(), num, out, count, scaling_of(dtype, op, num, 1, 1));
}

}  // namespace ring::kernel
