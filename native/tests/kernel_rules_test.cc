// The rules of scaling, of NaN and zero, and of what the caller's thread has set.
#include <doctest/doctest.h>

#include <cmath>    // for isinf, isnan, signbit
#include <cstdint>  // for fixed-width integers
#include <limits>   // for numeric_limits
#include <vector>   // for vector

#include "kernel_reference.h"
#include "kernel_sets.h"
#include "suites/reducible.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace {

using namespace ring;
using namespace ring::testing;
using kernel::Scaling;

template <typename T>
std::vector<T> combined(DType dtype, ReduceOp op, const std::vector<std::vector<T>>& inputs, double pre = 1,
                        double post = 1) {
  std::vector<const std::byte*> pointers;
  for (const auto& input : inputs) pointers.push_back(reinterpret_cast<const std::byte*>(input.data()));
  std::vector<T> out(inputs[0].size());
  const int size = static_cast<int>(inputs.size());
  kernel::combine(dtype, op, pointers.data(), size, reinterpret_cast<std::byte*>(out.data()), out.size(),
                  kernel::scaling_of(dtype, op, size, pre, post));
  return out;
}

template <typename T>
T mean_of(DType dtype, const std::vector<T>& by_rank) {
  std::vector<std::vector<T>> inputs;
  for (const T value : by_rank) inputs.push_back({value});
  return combined(dtype, ReduceOp::kMean, inputs)[0];
}

TEST_CASE("accumulators") {
  CHECK(kernel::accumulator(DType::kFloat16, ReduceOp::kSum) == DType::kFloat32);
  CHECK(kernel::accumulator(DType::kBFloat16, ReduceOp::kProduct) == DType::kFloat32);
  CHECK(kernel::accumulator(DType::kBFloat16, ReduceOp::kMax) == DType::kBFloat16);
  CHECK(kernel::accumulator(DType::kUint32, ReduceOp::kMean) == DType::kInt64);
  CHECK(kernel::accumulator(DType::kUint64, ReduceOp::kMean) == DType::kInt128);
  CHECK(kernel::accumulator(DType::kInt8, ReduceOp::kSum) == DType::kInt8);
  CHECK(kernel::accumulator(DType::kFloat64, ReduceOp::kMean) == DType::kFloat64);
}

TEST_CASE("scaling: powers of two need nothing afterwards, integers take no factors") {
  const auto four = kernel::scaling_of(DType::kFloat32, ReduceOp::kMean, 4, 1, 1);
  CHECK(four.pre == 0.25);
  CHECK_FALSE(four.finishes());
  const auto five = kernel::scaling_of(DType::kFloat32, ReduceOp::kMean, 5, 3, 2);
  CHECK(five.pre == 3.0 / 8);
  CHECK(five.post == 16);
  CHECK(five.divisor == 5);
  CHECK(kernel::scaling_of(DType::kInt32, ReduceOp::kMean, 5, 3, 2).divisor == 5);
  CHECK(kernel::scaling_of(DType::kInt32, ReduceOp::kMean, 5, 3, 2).pre == 1);
  CHECK(kernel::scaling_of(DType::kFloat32, ReduceOp::kSum, 5, 3, 2).pre == 3);
}

TEST_CASE("a mean of the largest finite values is that value, for every number of ranks") {
  on_every_set([] {
    for (std::size_t n = 1; n <= 70; ++n) {
      CHECK(mean_of(DType::kFloat32, std::vector<float>(n, std::numeric_limits<float>::max())) <=
            std::numeric_limits<float>::max());
      CHECK(mean_of(DType::kFloat64, std::vector<double>(n, -std::numeric_limits<double>::max())) >=
            -std::numeric_limits<double>::max());
      CHECK(mean_of(DType::kFloat16, std::vector<std::uint16_t>(n, 0x7bff)) == 0x7bff);
      CHECK(mean_of(DType::kBFloat16, std::vector<std::uint16_t>(n, 0x7f7f)) == 0x7f7f);
    }
  });
}

TEST_CASE("a mean whose sum is exact is the nearest value to the quotient") {
  on_every_set([] {
    for (std::size_t n = 1; n <= 100; ++n) {
      CHECK(mean_of(DType::kFloat32, std::vector<float>(n, 1)) == 1);
      CHECK(mean_of(DType::kFloat64, std::vector<double>(n, 1)) == 1);
      std::vector<double> one(n, 0);
      one[n / 2] = 1;
      CHECK(mean_of(DType::kFloat64, one) == 1 / static_cast<double>(n));
    }
    CHECK(mean_of<float>(DType::kFloat32, {1, 1, 0}) == static_cast<float>(2.0 / 3));
  });
}

TEST_CASE("means below the smallest normal number are off by what the rule says, half types by nothing") {
  on_every_set([] {
    CHECK(mean_of<float>(DType::kFloat32, {0x1p-149F, 0x1p-149F}) == 0);  // each half a unit, to even
    CHECK(mean_of<float>(DType::kFloat32, {0x1p-148F, 0x1p-148F}) == 0x1p-148F);
    CHECK(mean_of(DType::kFloat16, std::vector<std::uint16_t>(1000, 1)) == 1);
    CHECK(mean_of(DType::kBFloat16, std::vector<std::uint16_t>(1000, 1)) == 1);
  });
}

TEST_CASE("bfloat16 keeps small addends: 256 and seven ones average to 33 wherever the 256 lies (LOG-082)") {
  on_every_set([] {
    for (std::size_t place = 0; place < 8; ++place) {
      std::vector<std::uint16_t> values(8, 0x3f80);
      values[place] = 0x4380;
      CHECK(mean_of(DType::kBFloat16, values) == 0x4204);
    }
  });
}

TEST_CASE("small integers: the sum wraps, the mean does not (LOG-087)") {
  on_every_set([] {
    CHECK(combined<std::int8_t>(DType::kInt8, ReduceOp::kSum, {{120}, {100}})[0] == -36);
    CHECK(mean_of<std::int8_t>(DType::kInt8, {120, 100}) == 110);
    CHECK(mean_of<std::int16_t>(DType::kInt16, {-32768, -32768, -32767}) == -32767);
    CHECK(mean_of<std::uint32_t>(DType::kUint32, std::vector<std::uint32_t>(3, 0xffffffffU)) == 0xffffffffU);
    constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
    CHECK(mean_of<std::uint64_t>(DType::kUint64, {kMost, kMost, kMost - 1}) == kMost - 1);
    CHECK(mean_of<std::int64_t>(DType::kInt64, {std::int64_t{1} << 62, std::int64_t{1} << 62}) ==
          std::int64_t{1} << 62);
    for (std::int64_t n : {1, 3, 7, 1000, 524287}) {
      for (std::int64_t sum : {0L, 1L, -1L, 6L, -6L, (1L << 51) - 1, -(1L << 51), 1L << 51, (1L << 32) * n}) {
        std::int32_t out = 0;
        if (sum / n > std::numeric_limits<std::int32_t>::max() || sum / n < -(1L << 31)) continue;
        kernel::finish(DType::kInt64, DType::kInt32, reinterpret_cast<std::byte*>(&sum),
                       reinterpret_cast<std::byte*>(&out), 1, {1, 1, n});
        CHECK(out == sum / n);
      }
    }
  });
}

TEST_CASE("min and max: NaN wins from either side, and -0 lies below +0 from either side") {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  on_every_set([] {
    for (const auto op : {ReduceOp::kMin, ReduceOp::kMax}) {
      const auto out =
          combined<double>(DType::kFloat64, op, {{kNan, 1, kNan, 0.0, -0.0}, {1, kNan, kNan, -0.0, 0.0}});
      for (std::size_t i = 0; i < 3; ++i) CHECK(std::isnan(out[i]));
      for (std::size_t i = 3; i < 5; ++i) CHECK(std::signbit(out[i]) == (op == ReduceOp::kMin));
    }
  });
}

TEST_CASE("every NaN that is stored is the positive quiet one") {
  on_every_set([] {
    const float infinity = std::numeric_limits<float>::infinity();
    const auto sums = combined<float>(DType::kFloat32, ReduceOp::kSum,
                                      {{infinity, kernel::float_from(0xff812345U)}, {-infinity, 1}});
    for (const float sum : sums) CHECK(kernel::bits_of(sum) == 0x7fc00000U);
  });
}

#if defined(__SSE2__)
TEST_CASE("flush-to-zero and rounding modes of the caller change nothing, and stay as they were") {
  on_every_set([] {
    const auto before = _mm_getcsr();
    const unsigned crooked = (before | 0x8040U) & ~0x6000U;  // flush to zero, subnormals are zero
    _mm_setcsr(crooked | 0x4000U);                           // round up
    const auto sum =
        combined<float>(DType::kFloat32, ReduceOp::kSum, {{0x1p-149F, 1}, {0x1p-149F, 0x1p-60F}});
    std::uint16_t half = 1;
    float wide = 0;
    kernel::convert(DType::kFloat16, DType::kFloat32, reinterpret_cast<std::byte*>(&half),
                    reinterpret_cast<std::byte*>(&wide), 1);
    const auto after = _mm_getcsr();
    _mm_setcsr(before);
    CHECK(kernel::bits_of(sum[0]) == 2);
    CHECK(sum[1] == 1);
    CHECK(wide == 0x1p-24F);
    CHECK((after & ~0x3fU) == ((crooked | 0x4000U) & ~0x3fU));
  });
}
#endif

TEST_CASE("what has no arithmetic is left alone") {
  const std::uint8_t value = 1;
  std::uint8_t out = 7;
  const auto* in = reinterpret_cast<const std::byte*>(&value);
  for (const auto dtype : {DType::kBool, DType::kFloat8E4M3, DType::kFloat8E5M2}) {
    CHECK_FALSE(is_reducible(dtype));
    kernel::combine(dtype, ReduceOp::kSum, &in, 1, reinterpret_cast<std::byte*>(&out), 1, {});
    kernel::fold(dtype, dtype, ReduceOp::kMax, in, in, 1, reinterpret_cast<std::byte*>(&out), 1);
  }
  CHECK(out == 7);
}

TEST_CASE("instruction sets are named, and unknown ones refused") {
  CHECK_FALSE(kernel::set_instruction_set("mmx"));
  CHECK(kernel::instruction_set() == std::string(kernel::instruction_sets().front()));
}

}  // namespace
