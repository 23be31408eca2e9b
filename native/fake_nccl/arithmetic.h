// Element-wise arithmetic of the fake reductions, in rank order. Pure.
#pragma once

#include <cstddef>  // for byte, size_t
#include <cstdint>  // for int32_t
#include <cstring>  // for memcpy
#include <vector>   // for vector

#include "ring/kernel/half.h"
#include "ring/nccl/abi.h"

namespace fake {

// How values of type T are computed with.
template <typename T>
struct Number {
  using Wide = T;
  static Wide load(T value) { return value; }
  static T store(Wide value) { return value; }
};
template <>
struct Number<ring::kernel::Float16> {
  using Wide = float;
  static float load(ring::kernel::Float16 value) { return ring::kernel::widen(value); }
  static ring::kernel::Float16 store(float value) { return ring::kernel::narrow_to_float16(value); }
};
template <>
struct Number<ring::kernel::BFloat16> {
  using Wide = float;
  static float load(ring::kernel::BFloat16 value) { return ring::kernel::widen(value); }
  static ring::kernel::BFloat16 store(float value) { return ring::kernel::narrow_to_bfloat16(value); }
};

// An operation with, for a pre-multiplied sum, the bytes of its factor.
struct Operation {
  ring::nccl::RedOp op = ring::nccl::kSum;
  bool scaled = false;
  alignas(8) std::byte factor[8] = {};
};

template <typename T>
void reduce_as(const std::vector<const std::byte*>& inputs, std::byte* out, std::size_t count,
               const Operation& how) {
  using N = Number<T>;
  const auto at = [](const std::byte* data, std::size_t i) {
    T value;
    std::memcpy(&value, data + i * sizeof(T), sizeof value);
    return N::load(value);
  };
  const auto factor = how.scaled ? at(how.factor, 0) : typename N::Wide(1);
  for (std::size_t i = 0; i < count; ++i) {
    auto total = static_cast<typename N::Wide>(at(inputs[0], i) * factor);
    for (std::size_t k = 1; k < inputs.size(); ++k) {
      const auto next = static_cast<typename N::Wide>(at(inputs[k], i) * factor);
      switch (how.op) {
        case ring::nccl::kProd:
          total = static_cast<typename N::Wide>(total * next);
          break;
        case ring::nccl::kMax:
          total = next > total ? next : total;
          break;
        case ring::nccl::kMin:
          total = next < total ? next : total;
          break;
        default:
          total = static_cast<typename N::Wide>(total + next);
      }
    }
    const T result = N::store(total);
    std::memcpy(out + i * sizeof(T), &result, sizeof result);
  }
}

inline std::size_t width(ring::nccl::DataType type) {
  constexpr std::size_t kWidths[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return type >= 0 && type <= ring::nccl::kBfloat16 ? kWidths[type] : 0;
}

// Inputs by rank; `out` may be none of them.
inline void reduce(const std::vector<const std::byte*>& inputs, std::byte* out, std::size_t count,
                   ring::nccl::DataType type, const Operation& how) {
  using namespace ring::nccl;
  switch (type) {
    case kInt8:
      return reduce_as<std::int8_t>(inputs, out, count, how);
    case kUint8:
      return reduce_as<std::uint8_t>(inputs, out, count, how);
    case kInt32:
      return reduce_as<std::int32_t>(inputs, out, count, how);
    case kUint32:
      return reduce_as<std::uint32_t>(inputs, out, count, how);
    case kInt64:
      return reduce_as<std::int64_t>(inputs, out, count, how);
    case kUint64:
      return reduce_as<std::uint64_t>(inputs, out, count, how);
    case kFloat16:
      return reduce_as<ring::kernel::Float16>(inputs, out, count, how);
    case kFloat32:
      return reduce_as<float>(inputs, out, count, how);
    case kFloat64:
      return reduce_as<double>(inputs, out, count, how);
    case kBfloat16:
      return reduce_as<ring::kernel::BFloat16>(inputs, out, count, how);
  }
}

}  // namespace fake
