// float16 and bfloat16 to float32 and back, rounding to nearest even. Pure; written without branches so that
// loops over them vectorise. Needs the default floating-point environment (no flush-to-zero).
#pragma once

#include <cstdint>  // for uint16_t, uint32_t
#include <cstring>  // for memcpy

namespace ring::kernel {

// Storage of the two 16-bit formats; distinct types so that templates tell them apart.
struct Float16 {
  std::uint16_t bits;
};
struct BFloat16 {
  std::uint16_t bits;
};

inline std::uint32_t bits_of(float value) noexcept {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

inline float float_from(std::uint32_t bits) noexcept {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline float widen(BFloat16 value) noexcept {
  return float_from(static_cast<std::uint32_t>(value.bits) << 16);
}

inline BFloat16 narrow_to_bfloat16(float value) noexcept {
  const std::uint32_t bits = bits_of(value);
  const std::uint32_t quiet_nan = (bits >> 16) | 0x40U;  // the low payload bits alone could round to infinity
  const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  const bool is_nan = (bits & 0x7fffffffU) > 0x7f800000U;
  return {static_cast<std::uint16_t>(is_nan ? quiet_nan : rounded)};
}

inline float widen(Float16 value) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000U) << 16;
  const std::uint32_t magnitude = static_cast<std::uint32_t>(value.bits & 0x7fffU) << 13;
  // Read with float32's bias the exponent is 127 - 15 = 112 too small; the product is exact, subnormals
  // included.
  const std::uint32_t scaled = bits_of(float_from(magnitude) * 0x1p112F);
  const std::uint32_t quiet = magnitude > (0x7c00U << 13) ? 0x400000U : 0U;
  const std::uint32_t special = magnitude | 0x7f800000U | quiet;
  return float_from(sign | (magnitude >= (0x7c00U << 13) ? special : scaled));
}

inline Float16 narrow_to_float16(float value) noexcept {
  constexpr std::uint32_t kInfinity = 0x7f800000U;
  constexpr std::uint32_t kTooLarge = 0x47800000U;        // 2^16: above every finite half, rounding included
  constexpr std::uint32_t kSmallestNormal = 0x38800000U;  // 2^-14
  const std::uint32_t sign = (bits_of(value) >> 16) & 0x8000U;
  const std::uint32_t magnitude = bits_of(value) & 0x7fffffffU;
  // Normal: drop 13 bits to nearest even; a carry out of the mantissa moves on into the exponent, up to
  // infinity.
  const std::uint32_t odd = (magnitude >> 13) & 1U;
  const std::uint32_t normal = (magnitude - (112U << 23) + 0xfffU + odd) >> 13;
  // Subnormal: adding 0.5 makes float32's own rounding drop what lies below 2^-24, the unit of the result.
  const std::uint32_t subnormal = bits_of(float_from(magnitude) + 0.5F) - bits_of(0.5F);
  const std::uint32_t nan = 0x7e00U | ((magnitude >> 13) & 0x3ffU);
  const std::uint32_t finite = magnitude < kSmallestNormal ? subnormal : normal;
  const std::uint32_t special = magnitude > kInfinity ? nan : 0x7c00U;
  return {static_cast<std::uint16_t>(sign | (magnitude < kTooLarge ? finite : special))};
}

}  // namespace ring::kernel
