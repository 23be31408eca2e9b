// Both 16-bit formats, all 65536 values of each, against slow references written another way.
#include <doctest/doctest.h>

#include <cmath>    // for isnan, ldexp, nextafter
#include <cstdint>  // for uint16_t
#include <limits>   // for numeric_limits

#include "ring/kernel/half.h"

namespace {

using namespace ring::kernel;

// The value of sign, exponent and mantissa fields, by the definition of the formats.
double decode(unsigned bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const auto mantissa = static_cast<int>(bits & ((1U << mantissa_bits) - 1));
  const auto exponent = static_cast<int>((bits >> mantissa_bits) & ((1U << exponent_bits) - 1));
  const double sign = (bits & 0x8000U) != 0 ? -1.0 : 1.0;
  if (exponent == (1 << exponent_bits) - 1) {
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  }
  const int whole = exponent == 0 ? mantissa : mantissa + (1 << mantissa_bits);
  return sign * std::ldexp(whole, (exponent == 0 ? 1 : exponent) - bias - mantissa_bits);
}

// The midpoint between two neighbours goes to the even one; one step beside it to the nearer one.
template <typename Half, typename Narrow>
bool rounds_between(std::uint16_t low, double low_value, double high_value, Narrow narrow) {
  const auto high = static_cast<std::uint16_t>(low + 1);
  const auto middle = static_cast<float>((low_value + high_value) / 2);
  const auto toward_low = std::nextafter(middle, static_cast<float>(low_value));
  const auto toward_high = std::nextafter(middle, std::numeric_limits<float>::infinity() * middle);
  const std::uint16_t even = (low & 1U) == 0 ? low : high;
  return narrow(middle).bits == even && narrow(toward_low).bits == low && narrow(toward_high).bits == high;
}

TEST_CASE("every float16 widens to its value and comes back") {
  int wrong = 0;
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const float wide = widen(Float16{static_cast<std::uint16_t>(bits)});
    const double expected = decode(bits, 5, 10);
    const auto back = narrow_to_float16(wide).bits;
    if (std::isnan(expected)) {
      wrong += !std::isnan(wide) || !std::isnan(widen(Float16{back}));
    } else {
      wrong += wide != expected || back != bits || std::signbit(wide) != std::signbit(expected);
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("every bfloat16 widens to its value and comes back") {
  int wrong = 0;
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const float wide = widen(BFloat16{static_cast<std::uint16_t>(bits)});
    const double expected = decode(bits, 8, 7);
    const auto back = narrow_to_bfloat16(wide).bits;
    if (std::isnan(expected)) {
      wrong += !std::isnan(wide) || !std::isnan(widen(BFloat16{back}));
    } else {
      wrong += wide != expected || back != bits;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("float16 rounds to nearest even between all neighbours, overflow to infinity included") {
  int wrong = 0;
  for (std::uint16_t low = 0; low < 0x7c00; ++low) {
    const double high_value =
        low == 0x7bff ? 65536.0 : decode(low + 1U, 5, 10);  // where infinity begins to be near
    wrong += !rounds_between<Float16>(low, decode(low, 5, 10), high_value, narrow_to_float16);
  }
  CHECK(wrong == 0);
}

TEST_CASE("bfloat16 rounds to nearest even between all neighbours") {
  int wrong = 0;
  // From 128 on: below, the midpoint's own neighbours are float32 subnormals of another spacing than assumed
  // here.
  for (std::uint16_t low = 128; low < 0x7f7f; ++low) {
    wrong += !rounds_between<BFloat16>(low, decode(low, 8, 7), decode(low + 1U, 8, 7), narrow_to_bfloat16);
  }
  CHECK(wrong == 0);
  CHECK(narrow_to_bfloat16(std::numeric_limits<float>::max()).bits == 0x7f80);
}

TEST_CASE("signs, infinities and NaN survive narrowing") {
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(narrow_to_float16(-infinity).bits == 0xfc00);
  CHECK(narrow_to_float16(1e30F).bits == 0x7c00);
  CHECK(narrow_to_float16(-0.0F).bits == 0x8000);
  CHECK(narrow_to_float16(1e-30F).bits == 0);
  CHECK(narrow_to_bfloat16(-infinity).bits == 0xff80);
  const float thin_nan = float_from(0x7f800001U);  // its payload lies only in bits that are dropped
  CHECK(std::isnan(widen(narrow_to_float16(thin_nan))));
  CHECK(std::isnan(widen(narrow_to_bfloat16(thin_nan))));
}

}  // namespace
