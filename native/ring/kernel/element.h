// How one element of each type is read, computed with and written. Buffers may lie at any address.
#pragma once

#include <cstddef>  // for byte, size_t
#include <cstdint>  // for int32_t, int64_t, uint8_t
#include <cstring>  // for memcpy

#include "ring/base/dtype.h"
#include "ring/kernel/half.h"

namespace ring::kernel {

__extension__ typedef __int128 Int128;

// Value: what arithmetic is done in. Wide: what a sum for a mean is kept in, so that it cannot overflow.
template <typename Stored>
struct Element {
  using Value = Stored;
  using Wide = Stored;
  static Value widen(Stored stored) noexcept { return stored; }
  static Stored narrow(Value value) noexcept { return value; }
};

template <>
struct Element<Float16> {
  using Value = float;
  using Wide = float;
  static Value widen(Float16 stored) noexcept { return kernel::widen(stored); }
  static Float16 narrow(Value value) noexcept { return narrow_to_float16(value); }
};

template <>
struct Element<BFloat16> {
  using Value = float;
  using Wide = float;
  static Value widen(BFloat16 stored) noexcept { return kernel::widen(stored); }
  static BFloat16 narrow(Value value) noexcept { return narrow_to_bfloat16(value); }
};

template <typename Integer, typename WideInteger>
struct IntegerElement {
  using Value = Integer;
  using Wide = WideInteger;
  static Value widen(Integer stored) noexcept { return stored; }
  static Integer narrow(WideInteger value) noexcept { return static_cast<Integer>(value); }
};
template <>
struct Element<std::uint8_t> : IntegerElement<std::uint8_t, std::int64_t> {};
template <>
struct Element<std::int32_t> : IntegerElement<std::int32_t, std::int64_t> {};
template <>
struct Element<std::int64_t> : IntegerElement<std::int64_t, Int128> {};

template <typename Stored>
[[nodiscard]] inline typename Element<Stored>::Value load(const std::byte* data, std::size_t index) noexcept {
  Stored stored;
  std::memcpy(&stored, data + index * sizeof(Stored), sizeof(Stored));
  return Element<Stored>::widen(stored);
}

template <typename Stored, typename Value>
inline void store(std::byte* data, std::size_t index, Value value) noexcept {
  const Stored stored = Element<Stored>::narrow(value);
  std::memcpy(data + index * sizeof(Stored), &stored, sizeof(Stored));
}

// Calls `visitor` with a null pointer of the storage type of `dtype`; bool has no arithmetic and is not
// visited.
template <typename Visitor>
void visit(DType dtype, Visitor&& visitor) {
  switch (dtype) {
    case DType::kUint8:
      return visitor(static_cast<std::uint8_t*>(nullptr));
    case DType::kInt32:
      return visitor(static_cast<std::int32_t*>(nullptr));
    case DType::kInt64:
      return visitor(static_cast<std::int64_t*>(nullptr));
    case DType::kFloat16:
      return visitor(static_cast<Float16*>(nullptr));
    case DType::kBFloat16:
      return visitor(static_cast<BFloat16*>(nullptr));
    case DType::kFloat32:
      return visitor(static_cast<float*>(nullptr));
    case DType::kFloat64:
      return visitor(static_cast<double*>(nullptr));
    case DType::kBool:
      return;
  }
}

}  // namespace ring::kernel
