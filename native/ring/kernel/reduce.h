// Element-wise reduction, conversion and copies. Pure; any thread. Buffers may lie at any address; `out` may
// be exactly an input of the same element size, else they do not overlap.
//
// Rules, the same to the bit on every instruction set and whatever rounding or flush-to-zero mode the caller
// has set:
// - Sum and product of integers wrap. A mean of integers is summed wider and rounded toward zero.
// - float16 and bfloat16 are computed in float32 (`accumulator`) and rounded to nearest even once, at the
// end.
// - `pre` multiplies each input in float32 (float64 for float64). `post / divisor` multiplies the result in
//   float64, before that one rounding (a float64 result is divided by `divisor / post` where there is a
//   divisor).
// - A mean of floats scales its inputs by 2^-k, k = ceil(log2 n), so that the sum of finite values stays
//   finite. That is exact unless it reaches below 2^-126 (2^-1022 for float64): there each input is rounded
//   to a multiple of 2^-149 (2^-1074), so the mean may be off by n 2^-150 (n 2^-1075): below 2^(k-149) what
//   single ranks hold may get lost. Means of float16, and of bfloat16 up to 65536 ranks, are free of this.
//   A mean within n/2 units in the last place of the largest float32 or float64 may round to infinity.
// - min and max give NaN where any input is NaN, and order -0 below +0. Every NaN that is stored is the
//   positive quiet one without payload.
// - bool and the 8-bit floats are not reduced: calls with them, or with a pair of types that is not named
//   here, have no effect.
#pragma once

#include <cstddef>  // for byte, size_t
#include <cstdint>  // for int64_t
#include <vector>   // for vector

#include "ring/base/dtype.h"

namespace ring::kernel {

// What partial results are kept in: float32 for float16 and bfloat16 (not for min and max), int64 for a mean
// of integers, kInt128 for one of 64-bit integers, else the type itself.
[[nodiscard]] DType accumulator(DType dtype, ReduceOp op) noexcept;

struct Scaling {
  double pre = 1;
  double post = 1;
  std::int64_t divisor = 1;

  // False where an accumulator already is the result.
  [[nodiscard]] bool finishes() const noexcept { return post != 1 || divisor != 1; }
};

// The scaling of `op` over `size` ranks, the user's factors multiplied in (not for integers).
[[nodiscard]] Scaling scaling_of(DType dtype, ReduceOp op, int size, double prescale,
                                 double postscale) noexcept;

// How results are written: kStreaming goes past the caches and is ordered before the function returns.
enum class Stores { kPlain, kStreaming };

// out = post * (pre*in0 op pre*in1 op ...) / divisor, in the given order, rounded once to `dtype`.
void combine(DType dtype, ReduceOp op, const std::byte* const* inputs, int num_inputs, std::byte* out,
             std::size_t count, const Scaling& scaling, Stores stores = Stores::kPlain) noexcept;

// The same left in accumulator(dtype, op), without post and divisor.
void combine_wide(DType dtype, ReduceOp op, const std::byte* const* inputs, int num_inputs, std::byte* out,
                  std::size_t count, double pre) noexcept;

// One step of a ring: out = partial op pre*own. `partial` and `out` are of type `wire`: accumulator(own, op),
// `own` itself (an accumulator too: two partials), or float16 or bfloat16 that compress an own float32.
void fold(DType wire, DType own, ReduceOp op, const std::byte* partial, const std::byte* own_values,
          double pre, std::byte* out, std::size_t count) noexcept;

// out = round(in * factor), between float32 and float16 or bfloat16, either way, or within one type of float.
void convert(DType from, DType to, const std::byte* in, std::byte* out, std::size_t count,
             double factor = 1) noexcept;

// out = round(post * in / divisor), from an accumulator to its type.
void finish(DType accumulator, DType to, const std::byte* in, std::byte* out, std::size_t count,
            const Scaling& scaling) noexcept;

void copy(const std::byte* in, std::byte* out, std::size_t bytes, Stores stores = Stores::kPlain) noexcept;

// What the host backend calls until it has moved to the functions above.
[[nodiscard]] bool needs_wide(DType dtype, ReduceOp op) noexcept;
void fold(DType dtype, ReduceOp op, const std::byte* a, const std::byte* b, std::byte* out,
          std::size_t count) noexcept;
void divide(DType dtype, std::byte* data, std::size_t count, int divisor) noexcept;
void combine(DType dtype, ReduceOp op, const std::vector<const std::byte*>& inputs, std::byte* out,
             std::size_t count) noexcept;

}  // namespace ring::kernel
