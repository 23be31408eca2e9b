// Both 16-bit formats, all 65536 values of each and all places between them, on each instruction set.
#include <doctest/doctest.h>

#include <cmath>    // for isnan, ldexp, nextafter
#include <cstdint>  // for uint16_t
#include <limits>   // for numeric_limits
#include <vector>   // for vector

#include "kernel_sets.h"
#include "ring/kernel/half.h"
#include "ring/kernel/reduce.h"

namespace {

using namespace ring;
using namespace ring::testing;

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

constexpr std::size_t kAll = 65536;

std::vector<float> widened(DType dtype, const std::vector<std::uint16_t>& halves) {
  std::vector<float> wide(halves.size());
  kernel::convert(dtype, DType::kFloat32, reinterpret_cast<const std::byte*>(halves.data()),
                  reinterpret_cast<std::byte*>(wide.data()), wide.size());
  return wide;
}

std::vector<std::uint16_t> narrowed(DType dtype, const std::vector<float>& wide) {
  std::vector<std::uint16_t> halves(wide.size());
  kernel::convert(DType::kFloat32, dtype, reinterpret_cast<const std::byte*>(wide.data()),
                  reinterpret_cast<std::byte*>(halves.data()), wide.size());
  return halves;
}

struct HalfType {
  DType dtype;
  int exponent_bits;
  int mantissa_bits;
  std::uint16_t infinity;
};
constexpr HalfType kTypes[] = {{DType::kFloat16, 5, 10, 0x7c00}, {DType::kBFloat16, 8, 7, 0x7f80}};

TEST_CASE("every value widens to itself and comes back, every NaN as the one NaN") {
  std::vector<std::uint16_t> all(kAll);
  for (std::size_t i = 0; i < kAll; ++i) all[i] = static_cast<std::uint16_t>(i);
  on_every_set([&] {
    for (const auto& type : kTypes) {
      const auto wide = widened(type.dtype, all);
      const auto back = narrowed(type.dtype, wide);
      int wrong = 0;
      for (std::size_t i = 0; i < kAll; ++i) {
        const double expected = decode(all[i], type.exponent_bits, type.mantissa_bits);
        if (std::isnan(expected)) {
          wrong += kernel::bits_of(wide[i]) != 0x7fc00000U ||
                   back[i] != (type.infinity | (1U << (type.mantissa_bits - 1)));
        } else {
          wrong += static_cast<double>(wide[i]) != expected || back[i] != all[i] ||
                   std::signbit(wide[i]) != std::signbit(expected);
        }
      }
      CHECK(wrong == 0);
    }
  });
}

// Between every two neighbours: the midpoint goes to the even one, one step beside it to the nearer one.
// Beyond the largest finite value lies infinity, as if it were the next number.
TEST_CASE("rounds to nearest even between all neighbours, subnormals and overflow included") {
  on_every_set([] {
    for (const auto& type : kTypes) {
      std::vector<float> between;
      std::vector<std::uint16_t> expected;
      for (std::uint16_t low = 0; low < type.infinity; ++low) {
        const auto high = static_cast<std::uint16_t>(low + 1);
        const double below = decode(low, type.exponent_bits, type.mantissa_bits);
        const double above = high == type.infinity ? std::ldexp(1.0, type.exponent_bits == 5 ? 16 : 128)
                                                   : decode(high, type.exponent_bits, type.mantissa_bits);
        const auto middle = static_cast<float>((below + above) / 2);
        for (const float value : {middle, std::nextafter(middle, 0.0F), std::nextafter(middle, 1e38F * 10)}) {
          between.push_back(value);
          between.push_back(-value);
        }
        const std::uint16_t even = (low & 1U) == 0 ? low : high;
        for (const std::uint16_t one : {even, low, high}) {
          expected.push_back(one);
          expected.push_back(one | 0x8000U);
        }
      }
      CHECK(narrowed(type.dtype, between) == expected);
    }
  });
}

TEST_CASE("signs, infinities, NaN and what is far out of range survive narrowing") {
  const float infinity = std::numeric_limits<float>::infinity();
  const float thin_nan = kernel::float_from(0xff800001U);  // its payload lies only in bits that are dropped
  const std::vector<float> values{-infinity, 1e30F,    -0.0F,
                                  1e-30F,    thin_nan, std::numeric_limits<float>::max()};
  on_every_set([&] {
    CHECK(narrowed(DType::kFloat16, values) ==
          std::vector<std::uint16_t>{0xfc00, 0x7c00, 0x8000, 0, 0x7e00, 0x7c00});
    CHECK(narrowed(DType::kBFloat16, {-infinity, thin_nan, std::numeric_limits<float>::max()}) ==
          std::vector<std::uint16_t>{0xff80, 0x7fc0, 0x7f80});
  });
}

TEST_CASE("the scalar conversions of the tests agree") {
  std::vector<std::uint16_t> all(kAll);
  for (std::size_t i = 0; i < kAll; ++i) all[i] = static_cast<std::uint16_t>(i);
  const auto wide = widened(DType::kFloat16, all);
  int wrong = 0;
  for (std::size_t i = 0; i < kAll; ++i) {
    const float scalar = kernel::widen(kernel::Float16{all[i]});
    wrong += !(scalar == wide[i] || (std::isnan(scalar) && std::isnan(wide[i])));
    wrong += !std::isnan(scalar) && kernel::narrow_to_float16(scalar).bits != all[i];
  }
  CHECK(wrong == 0);
}

}  // namespace
