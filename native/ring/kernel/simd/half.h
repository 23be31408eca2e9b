// The 16-bit formats in plain vector arithmetic, for instruction sets without conversions of their own. Pure;
// any thread. Narrowing takes values whose NaNs are canonical.
#pragma once

#include "ring/kernel/simd/vector.h"

namespace ring::kernel::RING_ISA {
namespace {

RING_INLINE Floats load_bfloat16(const std::byte* at) {
  return (Floats)(load_words(at) << 16);
}
RING_INLINE void store_bfloat16(std::byte* at, Floats v) {
  const auto bits = (Words)v;
  store_words(at, (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

// Read with float32's bias the exponent is 127 - 15 = 112 too small; the product is exact, subnormals
// included.
RING_INLINE Floats load_float16(const std::byte* at) {
  const Words stored = load_words(at);
  const Words sign = (stored & 0x8000U) << 16;
  const auto magnitude = (SignedWords)((stored & 0x7fffU) << 13);
  const auto scaled = (SignedWords)((Floats)magnitude * 0x1p112F);
  const SignedWords special =
      magnitude | (magnitude > 0x0f800000 ? SignedWords{} + 0x7fc00000 : SignedWords{} + 0x7f800000);
  return (Floats)(sign | (Words)(magnitude >= 0x0f800000 ? special : scaled));
}

RING_INLINE void store_float16(std::byte* at, Floats v) {
  const Words sign = ((Words)v >> 16) & 0x8000U;
  const auto magnitude = (SignedWords)((Words)v & 0x7fffffffU);
  // Drops 13 bits to nearest even; a carry out of the mantissa moves on into the exponent, up to infinity.
  const SignedWords normal = (magnitude - (112 << 23) + 0xfff + ((magnitude >> 13) & 1)) >> 13;
  // Adding 0.5 makes float32's own rounding drop what lies below 2^-24, the unit of a subnormal result.
  const SignedWords subnormal = (SignedWords)((Floats)magnitude + 0.5F) - 0x3f000000;
  const SignedWords finite = magnitude < 0x38800000 ? subnormal : normal;  // 2^-14
  const SignedWords special = magnitude > 0x7f800000 ? SignedWords{} + 0x7e00 : SignedWords{} + 0x7c00;
  store_words(at, sign | (Words)(magnitude < 0x47800000 ? finite : special));  // 2^16
}

}  // namespace
}  // namespace ring::kernel::RING_ISA
