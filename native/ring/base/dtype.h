// Element types and reduce operations: the codes that cross the Python boundary and the wire.
#pragma once

#include <cstddef>  // for size_t
#include <cstdint>  // for uint8_t

namespace ring {

// Numbers are part of the wire format and of _native.pyi: append, never reorder.
enum class DType : std::uint8_t {
  kUint8 = 0,
  kInt32 = 1,
  kInt64 = 2,
  kFloat16 = 3,
  kBFloat16 = 4,
  kFloat32 = 5,
  kFloat64 = 6,
  kBool = 7,
  kInt8 = 8,
  kInt16 = 9,
  kUint16 = 10,
  kUint32 = 11,
  kUint64 = 12,
  kFloat8E4M3 = 13,
  kFloat8E5M2 = 14,
  kInt128 = 255,  // sums of 64-bit integers inside the kernels; never crosses Python or the wire as a code
};
inline constexpr int kNumDTypes = 15;

// bool and the 8-bit floats are only moved.
[[nodiscard]] constexpr bool is_reducible(DType dtype) noexcept {
  return static_cast<int>(dtype) < kNumDTypes && dtype != DType::kBool && dtype != DType::kFloat8E4M3 &&
         dtype != DType::kFloat8E5M2;
}

[[nodiscard]] constexpr bool is_floating(DType dtype) noexcept {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16 || dtype == DType::kFloat32 ||
         dtype == DType::kFloat64 || dtype == DType::kFloat8E4M3 || dtype == DType::kFloat8E5M2;
}

enum class ReduceOp : std::uint8_t { kSum = 0, kMean = 1, kMin = 2, kMax = 3, kProduct = 4 };
inline constexpr int kNumReduceOps = 5;

[[nodiscard]] constexpr std::size_t size_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::kUint8:
    case DType::kBool:
    case DType::kInt8:
    case DType::kFloat8E4M3:
    case DType::kFloat8E5M2:
      return 1;
    case DType::kFloat16:
    case DType::kBFloat16:
    case DType::kInt16:
    case DType::kUint16:
      return 2;
    case DType::kInt32:
    case DType::kFloat32:
    case DType::kUint32:
      return 4;
    case DType::kInt64:
    case DType::kFloat64:
    case DType::kUint64:
      return 8;
    case DType::kInt128:
      return 16;
  }
  return 0;
}

[[nodiscard]] constexpr const char* name_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::kUint8:
      return "uint8";
    case DType::kInt32:
      return "int32";
    case DType::kInt64:
      return "int64";
    case DType::kFloat16:
      return "float16";
    case DType::kBFloat16:
      return "bfloat16";
    case DType::kFloat32:
      return "float32";
    case DType::kFloat64:
      return "float64";
    case DType::kBool:
      return "bool";
    case DType::kInt8:
      return "int8";
    case DType::kInt16:
      return "int16";
    case DType::kUint16:
      return "uint16";
    case DType::kUint32:
      return "uint32";
    case DType::kUint64:
      return "uint64";
    case DType::kFloat8E4M3:
      return "float8_e4m3fn";
    case DType::kFloat8E5M2:
      return "float8_e5m2";
    case DType::kInt128:
      return "int128";
  }
  return "unknown dtype";
}

[[nodiscard]] constexpr const char* name_of(ReduceOp op) noexcept {
  switch (op) {
    case ReduceOp::kSum:
      return "sum";
    case ReduceOp::kMean:
      return "mean";
    case ReduceOp::kMin:
      return "min";
    case ReduceOp::kMax:
      return "max";
    case ReduceOp::kProduct:
      return "product";
  }
  return "unknown op";
}

}  // namespace ring
