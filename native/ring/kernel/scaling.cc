#include <cstdint>  // for int64_t

#include "ring/kernel/reduce.h"

namespace ring::kernel {
namespace {

bool is_half(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

// The smallest power of two that is not below `size`.
std::int64_t power_above(int size) {
  std::int64_t power = 1;
  while (power < size) power *= 2;
  return power;
}

}  // namespace

DType accumulator(DType dtype, ReduceOp op) noexcept {
  if (is_half(dtype)) return op == ReduceOp::kMin || op == ReduceOp::kMax ? dtype : DType::kFloat32;
  if (op != ReduceOp::kMean || is_floating(dtype) || !is_reducible(dtype)) return dtype;
  return size_of(dtype) == 8 ? DType::kInt128 : DType::kInt64;
}

Scaling scaling_of(DType dtype, ReduceOp op, int size, double prescale, double postscale) noexcept {
  if (!is_floating(dtype)) return {1, 1, op == ReduceOp::kMean ? size : 1};
  if (op != ReduceOp::kMean) return {prescale, postscale, 1};
  const std::int64_t power = power_above(size);
  const double pre = prescale / static_cast<double>(power);
  if (power == size) return {pre, postscale, 1};
  return {pre, postscale * static_cast<double>(power), size};
}

}  // namespace ring::kernel
