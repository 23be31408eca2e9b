// Element-wise reduction. Pure; any thread. Not for bool.
//
// Rules: sum and product of integers wrap as in C. A mean of integers is summed wider and rounded toward
// zero. float16 and bfloat16 are computed in float32. min and max give NaN where any input is NaN.
#pragma once

#include <cstddef>  // for byte, size_t
#include <vector>   // for vector

#include "ring/base/dtype.h"

namespace ring::kernel {

// True where partial results kept in the wire type would lose digits: fold all inputs at once with `combine`.
[[nodiscard]] bool needs_wide(DType dtype, ReduceOp op) noexcept;

// out[i] = a[i] op b[i]; `out` may be `a` or `b`. A mean only sums here: see `divide`.
void fold(DType dtype, ReduceOp op, const std::byte* a, const std::byte* b, std::byte* out,
          std::size_t count);

// data[i] /= divisor for float32 and float64: turns a folded sum into a mean.
void divide(DType dtype, std::byte* data, std::size_t count, int divisor);

// out[i] = inputs[0][i] op inputs[1][i] op ..., in this order, rounded once. `out` may be one of the inputs.
void combine(DType dtype, ReduceOp op, const std::vector<const std::byte*>& inputs, std::byte* out,
             std::size_t count);

}  // namespace ring::kernel
