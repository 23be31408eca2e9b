// Arrays of any element type, filled with values that differ by rank and index, and their reference in
// float64.
#pragma once

#include <cmath>    // for fabs
#include <cstdint>  // for fixed-width integers
#include <cstring>  // for memcpy
#include <vector>   // for vector

#include "ring/base/dtype.h"
#include "ring/kernel/half.h"

namespace ring::testing {

class Array {
 public:
  Array(DType dtype, std::size_t count) : dtype_(dtype), count_(count), bytes_(count * size_of(dtype)) {}

  [[nodiscard]] std::byte* data() { return bytes_.data(); }
  [[nodiscard]] const std::byte* data() const { return bytes_.data(); }
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] bool operator==(const Array& other) const { return bytes_ == other.bytes_; }

  void set(std::size_t index, double value) {
    switch (dtype_) {
      case DType::kUint8:
      case DType::kBool:
      case DType::kFloat8E4M3:
      case DType::kFloat8E5M2:
        return put(index, static_cast<std::uint8_t>(value));
      case DType::kInt8:
        return put(index, static_cast<std::int8_t>(value));
      case DType::kInt16:
        return put(index, static_cast<std::int16_t>(value));
      case DType::kUint16:
        return put(index, static_cast<std::uint16_t>(value));
      case DType::kUint32:
        return put(index, static_cast<std::uint32_t>(value));
      case DType::kUint64:
        return put(index, static_cast<std::uint64_t>(value));
      case DType::kInt128:
        return;
      case DType::kInt32:
        return put(index, static_cast<std::int32_t>(value));
      case DType::kInt64:
        return put(index, static_cast<std::int64_t>(value));
      case DType::kFloat16:
        return put(index, kernel::narrow_to_float16(static_cast<float>(value)));
      case DType::kBFloat16:
        return put(index, kernel::narrow_to_bfloat16(static_cast<float>(value)));
      case DType::kFloat32:
        return put(index, static_cast<float>(value));
      case DType::kFloat64:
        return put(index, value);
    }
  }

  [[nodiscard]] double get(std::size_t index) const {
    switch (dtype_) {
      case DType::kUint8:
      case DType::kBool:
      case DType::kFloat8E4M3:
      case DType::kFloat8E5M2:
        return static_cast<double>(take<std::uint8_t>(index));
      case DType::kInt8:
        return static_cast<double>(take<std::int8_t>(index));
      case DType::kInt16:
        return static_cast<double>(take<std::int16_t>(index));
      case DType::kUint16:
        return static_cast<double>(take<std::uint16_t>(index));
      case DType::kUint32:
        return static_cast<double>(take<std::uint32_t>(index));
      case DType::kUint64:
        return static_cast<double>(take<std::uint64_t>(index));
      case DType::kInt128:
        return 0;
      case DType::kInt32:
        return static_cast<double>(take<std::int32_t>(index));
      case DType::kInt64:
        return static_cast<double>(take<std::int64_t>(index));
      case DType::kFloat16:
        return static_cast<double>(kernel::widen(take<kernel::Float16>(index)));
      case DType::kBFloat16:
        return static_cast<double>(kernel::widen(take<kernel::BFloat16>(index)));
      case DType::kFloat32:
        return static_cast<double>(take<float>(index));
      case DType::kFloat64:
        return take<double>(index);
    }
    return 0;
  }

 private:
  template <typename T>
  void put(std::size_t index, T value) {
    std::memcpy(bytes_.data() + index * sizeof(T), &value, sizeof(T));
  }
  template <typename T>
  [[nodiscard]] T take(std::size_t index) const {
    T value;
    std::memcpy(&value, bytes_.data() + index * sizeof(T), sizeof(T));
    return value;
  }

  DType dtype_;
  std::size_t count_;
  std::vector<std::byte> bytes_;
};

inline bool is_real(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16 || dtype == DType::kFloat32 ||
         dtype == DType::kFloat64;
}

// The 8-bit floats are moved as plain bytes.
inline bool is_unsigned(DType dtype) {
  return dtype == DType::kUint8 || dtype == DType::kUint16 || dtype == DType::kUint32 ||
         dtype == DType::kUint64 || dtype == DType::kFloat8E4M3 || dtype == DType::kFloat8E5M2;
}

// Exact in every type: quarters with few bits for reals, small enough that nothing wraps for integers.
inline double value_at(DType dtype, ReduceOp op, int rank, std::size_t index) {
  const std::size_t mixed = index * 5 + static_cast<std::size_t>(rank) * 3 + index / 97;
  if (dtype == DType::kBool) return static_cast<double>(mixed % 3 == 0);
  if (op == ReduceOp::kProduct) return static_cast<double>(mixed % 4) / (is_real(dtype) ? 2 : 1);
  if (is_unsigned(dtype)) return static_cast<double>(mixed % 61);
  const double centred = static_cast<double>(mixed % 61) - 30;
  return is_real(dtype) ? centred / 4 : centred;
}

inline Array filled(DType dtype, ReduceOp op, int rank, std::size_t count) {
  Array array(dtype, count);
  for (std::size_t i = 0; i < count; ++i) array.set(i, value_at(dtype, op, rank, i));
  return array;
}

inline double fold(ReduceOp op, double a, double b) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kMean:
      return a + b;
    case ReduceOp::kMin:
      return b < a ? b : a;
    case ReduceOp::kMax:
      return b > a ? b : a;
    case ReduceOp::kProduct:
      return a * b;
  }
  return 0;
}

inline double expected_at(DType dtype, ReduceOp op, int size, std::size_t index) {
  double total = value_at(dtype, op, 0, index);
  for (int rank = 1; rank < size; ++rank) total = fold(op, total, value_at(dtype, op, rank, index));
  if (op == ReduceOp::kMean) total /= size;
  return is_real(dtype) ? total : std::trunc(total);
}

// Half a unit in the last place, relative; a few of them where the ring rounds at each step.
inline double rounding(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return 0x1p-11;
    case DType::kBFloat16:
      return 0x1p-8;
    case DType::kFloat32:
      return 0x1p-22;
    case DType::kFloat64:
      return 0x1p-51;
    default:
      return 0;
  }
}

inline bool is_near(DType dtype, double value, double expected) {
  return std::fabs(value - expected) <= rounding(dtype) * std::fabs(expected);
}

}  // namespace ring::testing
