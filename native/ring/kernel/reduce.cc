#include "ring/kernel/reduce.h"

#include "ring/kernel/element.h"
#include "ring/kernel/operators.h"

namespace ring::kernel {
namespace {

template <typename Stored, typename Fold>
void fold_elements(Fold fold, const std::byte* a, const std::byte* b, std::byte* out, std::size_t count) {
  // Iterations are independent even where `out` is an input: each reads its own index before writing it.
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) store<Stored>(out, i, fold(load<Stored>(a, i), load<Stored>(b, i)));
}

template <typename Real>
void divide_elements(std::byte* data, std::size_t count, Real divisor) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) store<Real>(data, i, load<Real>(data, i) / divisor);
}

}  // namespace

bool needs_wide(DType dtype, ReduceOp op) noexcept {
  if (dtype == DType::kFloat16 || dtype == DType::kBFloat16)
    return op != ReduceOp::kMin && op != ReduceOp::kMax;
  return op == ReduceOp::kMean && dtype != DType::kFloat32 && dtype != DType::kFloat64;
}

void fold(DType dtype, ReduceOp op, const std::byte* a, const std::byte* b, std::byte* out,
          std::size_t count) {
  visit(dtype, [&](auto* type) {
    using Stored = std::remove_pointer_t<decltype(type)>;
    visit(op, [&](auto operation) { fold_elements<Stored>(operation, a, b, out, count); });
  });
}

void divide(DType dtype, std::byte* data, std::size_t count, int divisor) {
  if (dtype == DType::kFloat32) divide_elements<float>(data, count, static_cast<float>(divisor));
  if (dtype == DType::kFloat64) divide_elements<double>(data, count, static_cast<double>(divisor));
}

}  // namespace ring::kernel
