// The binary operations. Integers wrap as unsigned arithmetic does; NaN wins in min and max.
#pragma once

#include <type_traits>  // for is_integral_v, make_unsigned_t

#include "ring/base/dtype.h"

namespace ring::kernel {

struct Sum {
  template <typename T>
  [[nodiscard]] T operator()(T a, T b) const noexcept {
    if constexpr (std::is_integral_v<T> && sizeof(T) <= 8) {
      using Unsigned = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
    } else {
      return a + b;
    }
  }
};

struct Product {
  template <typename T>
  [[nodiscard]] T operator()(T a, T b) const noexcept {
    if constexpr (std::is_integral_v<T> && sizeof(T) <= 8) {
      using Unsigned = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<Unsigned>(a) * static_cast<Unsigned>(b));
    } else {
      return a * b;
    }
  }
};

struct Min {
  template <typename T>
  [[nodiscard]] T operator()(T a, T b) const noexcept {
    return b < a || b != b ? b : a;  // b != b: NaN
  }
};

struct Max {
  template <typename T>
  [[nodiscard]] T operator()(T a, T b) const noexcept {
    return b > a || b != b ? b : a;
  }
};

// Calls `visitor` with the operation that folds two partial results; a mean folds as a sum.
template <typename Visitor>
void visit(ReduceOp op, Visitor&& visitor) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kMean:
      return visitor(Sum{});
    case ReduceOp::kMin:
      return visitor(Min{});
    case ReduceOp::kMax:
      return visitor(Max{});
    case ReduceOp::kProduct:
      return visitor(Product{});
  }
}

}  // namespace ring::kernel
