// The rules of ring/kernel/reduce.h once more, an element at a time in plain C++, and random values to try
// them on.
#pragma once

#include <cmath>    // for isnan, signbit
#include <cstdint>  // for fixed-width integers
#include <cstring>  // for memcpy
#include <limits>   // for numeric_limits
#include <random>   // for mt19937_64
#include <vector>   // for vector

#include "ring/base/dtype.h"
#include "ring/kernel/reduce.h"
#include "values.h"

namespace ring::testing {

__extension__ typedef __int128 Int128;
using Buffer = std::vector<std::byte>;

template <typename T>
T take(const std::byte* data, std::size_t index) {
  T value;
  std::memcpy(&value, data + index * sizeof(T), sizeof(T));
  return value;
}
template <typename T>
void put(std::byte* data, std::size_t index, T value) {
  std::memcpy(data + index * sizeof(T), &value, sizeof(T));
}

inline double real_at(DType dtype, const std::byte* data, std::size_t i) {
  if (dtype == DType::kFloat64) return take<double>(data, i);
  if (dtype == DType::kFloat32) return static_cast<double>(take<float>(data, i));
  if (dtype == DType::kFloat16) return static_cast<double>(kernel::widen(take<kernel::Float16>(data, i)));
  return static_cast<double>(kernel::widen(take<kernel::BFloat16>(data, i)));
}

inline void put_real(DType dtype, std::byte* data, std::size_t i, double value) {
  if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
  if (dtype == DType::kFloat64) return put(data, i, value);
  const auto narrow = static_cast<float>(value);
  if (dtype == DType::kFloat32) return put(data, i, narrow);
  if (dtype == DType::kFloat16) return put(data, i, kernel::narrow_to_float16(narrow));
  put(data, i, kernel::narrow_to_bfloat16(narrow));
}

template <typename Real>
Real apply_real(ReduceOp op, Real a, Real b) {
  if (op == ReduceOp::kProduct) return a * b;
  if (op == ReduceOp::kSum || op == ReduceOp::kMean) return a + b;
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<Real>::quiet_NaN();
  if (a == b) return std::signbit(a) == (op == ReduceOp::kMin) ? a : b;
  return (a < b) == (op == ReduceOp::kMin) ? a : b;
}

// `result` is float32 or float64 while partial, so a double holds it exactly.
inline double reduce_real(DType dtype, ReduceOp op, const std::vector<double>& values, double pre) {
  const bool is_double = dtype == DType::kFloat64;
  const auto scaled = [&](double value) {
    return is_double ? value * pre : static_cast<double>(static_cast<float>(value) * static_cast<float>(pre));
  };
  double result = scaled(values[0]);
  for (std::size_t k = 1; k < values.size(); ++k) {
    const double next = scaled(values[k]);
    result = is_double
                 ? apply_real(op, result, next)
                 : static_cast<double>(apply_real(op, static_cast<float>(result), static_cast<float>(next)));
  }
  return result;
}

inline double finish_real(DType dtype, double value, const kernel::Scaling& scaling) {
  const auto divisor = static_cast<double>(scaling.divisor);
  if (dtype == DType::kFloat64 && scaling.divisor != 1) return value / (divisor / scaling.post);
  return scaling.finishes() ? value * (scaling.post / divisor) : value;
}

template <typename Visitor>
void visit_integer(DType dtype, Visitor&& visitor) {
  switch (dtype) {
    case DType::kUint8:
      return visitor(std::uint8_t{});
    case DType::kInt8:
      return visitor(std::int8_t{});
    case DType::kUint16:
      return visitor(std::uint16_t{});
    case DType::kInt16:
      return visitor(std::int16_t{});
    case DType::kUint32:
      return visitor(std::uint32_t{});
    case DType::kInt32:
      return visitor(std::int32_t{});
    case DType::kUint64:
      return visitor(std::uint64_t{});
    case DType::kInt64:
      return visitor(std::int64_t{});
    case DType::kInt128:
      return visitor(Int128{});
    default:
      return;
  }
}

inline Int128 integer_at(DType dtype, const std::byte* data, std::size_t i) {
  Int128 value = 0;
  visit_integer(dtype, [&](auto type) { value = take<decltype(type)>(data, i); });
  return value;
}
inline void put_integer(DType dtype, std::byte* data, std::size_t i, Int128 value) {
  visit_integer(dtype, [&](auto type) { put(data, i, static_cast<decltype(type)>(value)); });
}

inline Int128 apply_integer(ReduceOp op, Int128 a, Int128 b) {
  if (op == ReduceOp::kMin) return a < b ? a : b;
  if (op == ReduceOp::kMax) return a > b ? a : b;
  if (op == ReduceOp::kProduct) {
    return static_cast<Int128>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  }
  return a + b;
}

// Element i of all inputs into element i of `out`, which is of type `to`: dtype, or its accumulator.
inline void reduce_one(DType dtype, ReduceOp op, const std::vector<const std::byte*>& inputs, std::size_t i,
                       const kernel::Scaling& scaling, DType to, std::byte* out) {
  if (is_floating(dtype)) {
    std::vector<double> values;
    for (const auto* input : inputs) values.push_back(real_at(dtype, input, i));
    return put_real(to, out, i, finish_real(dtype, reduce_real(dtype, op, values, scaling.pre), scaling));
  }
  Int128 result = integer_at(dtype, inputs[0], i);
  for (std::size_t k = 1; k < inputs.size(); ++k) {
    result = apply_integer(op, result, integer_at(dtype, inputs[k], i));
  }
  put_integer(to, out, i, result / scaling.divisor);
}

// Any bit pattern, and often the ones that are special.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}

  [[nodiscard]] std::size_t below(std::size_t end) { return static_cast<std::size_t>(engine_() % end); }

  void fill(DType dtype, std::byte* data, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      if (is_floating(dtype) && below(3) > 0) {
        put_real(dtype, data, i, real());
      } else if (!is_floating(dtype) && below(2) > 0) {
        put_integer(dtype, data, i, static_cast<Int128>(below(2000)) - 1000);
      } else {
        const std::uint64_t bits[2] = {engine_(), engine_()};
        std::memcpy(data + i * size_of(dtype), bits, size_of(dtype));
      }
    }
  }

 private:
  double real() {
    constexpr double kSpecial[] = {0.0,
                                   -0.0,
                                   1.0,
                                   -1.0,
                                   0x1p-149,
                                   -0x1p-126,
                                   0x1p-24,
                                   0x1p-14,
                                   65504,
                                   65520,
                                   0x1.fffffep127,
                                   -0x1.fep127,
                                   0x1.fffffffffffffp1023,
                                   0x1p-1074};
    if (below(4) == 0) return kSpecial[below(std::size(kSpecial))];
    if (below(8) == 0) return std::numeric_limits<double>::infinity() * (below(2) > 0 ? 1 : -1);
    return std::ldexp(static_cast<double>(below(4096)) - 2048, static_cast<int>(below(12)) - 6);
  }

  std::mt19937_64 engine_;
};

}  // namespace ring::testing
