#include <doctest/doctest.h>

#include <cmath>    // for isnan
#include <cstdint>  // for int32_t, int64_t, uint8_t
#include <limits>   // for numeric_limits
#include <vector>   // for vector

#include "ring/kernel/half.h"
#include "ring/kernel/reduce.h"

namespace {

using namespace ring;

template <typename T>
const std::byte* bytes(const std::vector<T>& values) {
  return reinterpret_cast<const std::byte*>(values.data());
}

template <typename T>
std::vector<T> folded(DType dtype, ReduceOp op, const std::vector<T>& a, const std::vector<T>& b) {
  std::vector<T> out(a.size());
  kernel::fold(dtype, op, bytes(a), bytes(b), reinterpret_cast<std::byte*>(out.data()), a.size());
  return out;
}

template <typename T>
std::vector<T> combined(DType dtype, ReduceOp op, const std::vector<std::vector<T>>& inputs) {
  std::vector<const std::byte*> pointers;
  for (const auto& input : inputs) pointers.push_back(bytes(input));
  std::vector<T> out(inputs[0].size());
  kernel::combine(dtype, op, pointers, reinterpret_cast<std::byte*>(out.data()), out.size());
  return out;
}

TEST_CASE("integers wrap in sum and product") {
  CHECK(folded<std::uint8_t>(DType::kUint8, ReduceOp::kSum, {200}, {100}) == std::vector<std::uint8_t>{44});
  CHECK(folded<std::uint8_t>(DType::kUint8, ReduceOp::kProduct, {20}, {20}) ==
        std::vector<std::uint8_t>{144});
  constexpr auto kMost = std::numeric_limits<std::int32_t>::max();
  constexpr auto kLeast = std::numeric_limits<std::int32_t>::min();
  CHECK(folded<std::int32_t>(DType::kInt32, ReduceOp::kSum, {kMost}, {1}) ==
        std::vector<std::int32_t>{kLeast});
  constexpr std::int64_t kBig = std::int64_t{1} << 62;
  CHECK(folded<std::int64_t>(DType::kInt64, ReduceOp::kSum, {kBig}, {kBig}) ==
        std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::min()});
}

TEST_CASE("a mean of integers is computed wider and rounded toward zero") {
  CHECK(combined<std::uint8_t>(DType::kUint8, ReduceOp::kMean, {{200, 1}, {100, 2}}) ==
        std::vector<std::uint8_t>{150, 1});
  constexpr std::int64_t kBig = std::int64_t{1} << 62;
  CHECK(combined<std::int64_t>(DType::kInt64, ReduceOp::kMean, {{kBig, -3}, {kBig, 0}}) ==
        std::vector<std::int64_t>{kBig, -1});
  constexpr auto kMost = std::numeric_limits<std::int32_t>::max();
  CHECK(combined<std::int32_t>(DType::kInt32, ReduceOp::kMean, {{kMost}, {kMost}, {kMost}}) ==
        std::vector<std::int32_t>{kMost});
}

TEST_CASE("NaN wins in min and max from either side") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto op : {ReduceOp::kMin, ReduceOp::kMax}) {
    const auto out = folded<double>(DType::kFloat64, op, {nan, 1, nan}, {1, nan, nan});
    for (const double value : out) CHECK(std::isnan(value));
  }
  CHECK(folded<float>(DType::kFloat32, ReduceOp::kMin, {1, -2}, {-1, 3}) == std::vector<float>{-1, -2});
  CHECK(folded<float>(DType::kFloat32, ReduceOp::kMax, {1, -2}, {-1, 3}) == std::vector<float>{1, 3});
}

TEST_CASE("bfloat16 keeps small addends: 256 and seven ones average to 33 wherever the 256 lies") {
  const auto large = kernel::narrow_to_bfloat16(256.0F).bits;
  const auto one = kernel::narrow_to_bfloat16(1.0F).bits;
  for (std::size_t place = 0; place < 8; ++place) {
    std::vector<std::vector<std::uint16_t>> inputs(8, {one});
    inputs[place] = {large};
    const auto mean = combined<std::uint16_t>(DType::kBFloat16, ReduceOp::kMean, inputs);
    CHECK(kernel::widen(kernel::BFloat16{mean[0]}) == 33.0F);
  }
}

TEST_CASE(
    "buffers may lie at any address, lengths around the tile are whole, and the output may be an input") {
  for (const std::size_t count : {0U, 1U, 511U, 512U, 513U, 1500U}) {
    std::vector<std::byte> raw(count * 4 + 1);
    std::vector<float> other(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto value = static_cast<float>(i);
      std::memcpy(raw.data() + 1 + i * 4, &value, 4);
      other[i] = 2 * value;
    }
    std::byte* odd = raw.data() + 1;
    kernel::fold(DType::kFloat32, ReduceOp::kSum, odd, bytes(other), odd, count);
    kernel::combine(DType::kFloat32, ReduceOp::kSum, {odd, bytes(other)}, odd, count);
    kernel::divide(DType::kFloat32, odd, count, 5);
    int wrong = 0;
    for (std::size_t i = 0; i < count; ++i) {
      float value = 0;
      std::memcpy(&value, odd + i * 4, 4);
      wrong += value != static_cast<float>(i);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("only what would lose digits is kept wide") {
  CHECK(kernel::needs_wide(DType::kFloat16, ReduceOp::kSum));
  CHECK(kernel::needs_wide(DType::kBFloat16, ReduceOp::kProduct));
  CHECK(kernel::needs_wide(DType::kInt64, ReduceOp::kMean));
  CHECK_FALSE(kernel::needs_wide(DType::kFloat16, ReduceOp::kMax));
  CHECK_FALSE(kernel::needs_wide(DType::kInt32, ReduceOp::kSum));
  CHECK_FALSE(kernel::needs_wide(DType::kFloat32, ReduceOp::kMean));
}

}  // namespace
