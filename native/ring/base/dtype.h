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
};
inline constexpr int kNumDTypes = 8;

enum class ReduceOp : std::uint8_t { kSum = 0, kMean = 1, kMin = 2, kMax = 3, kProduct = 4 };
inline constexpr int kNumReduceOps = 5;

[[nodiscard]] constexpr std::size_t size_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::kUint8:
    case DType::kBool:
      return 1;
    case DType::kFloat16:
    case DType::kBFloat16:
      return 2;
    case DType::kInt32:
    case DType::kFloat32:
      return 4;
    case DType::kInt64:
    case DType::kFloat64:
      return 8;
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
