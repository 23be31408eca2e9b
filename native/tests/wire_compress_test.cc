// float32 that travels as float16 or bfloat16: half the bytes, the same bits everywhere, nothing lost for
// good.
#include <doctest/doctest.h>

#include <cmath>   // for fabs, isinf
#include <limits>  // for numeric_limits
#include <random>  // for mt19937
#include <vector>  // for vector

#include "wire_group.h"

namespace {

using namespace ring;
using namespace ring::testing;
using plan::Algorithm;
using Floats = std::vector<float>;

constexpr Algorithm kAlgorithms[] = {Algorithm::kExchange, Algorithm::kPairwise, Algorithm::kRing};

struct How {
  DType wire = DType::kBFloat16;
  ReduceOp op = ReduceOp::kMean;
  double prescale = 1;
};

// One allreduce in place; `residuals` empty: none.
void reduce(WireGroup& group, std::vector<Floats>& data, std::vector<Floats>& residuals, const How& how) {
  const auto outcomes = group.on_all([&](algo::Wire& wire, const backend::Call& call) {
    const auto at = static_cast<std::size_t>(wire.index());
    algo::wire::Values values{};
    values.own = reinterpret_cast<const std::byte*>(data[at].data());
    values.out = reinterpret_cast<std::byte*>(data[at].data());
    values.from = values.to = DType::kFloat32;
    values.wire = how.wire;
    values.op = how.op;
    values.prescale = how.prescale;
    values.scaling = kernel::scaling_of(DType::kFloat32, how.op, group.size(), 1, 1);
    values.residual = residuals.empty() ? nullptr : residuals[at].data();
    return wire.allreduce(values, data[at].size(), call);
  });
  CHECK(all_fine(outcomes));
  for (const auto& one : data) CHECK(one == data[0]);  // the same bits on all members
}

std::vector<Floats> random_data(int size, std::size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> any(-2, 2);
  std::vector<Floats> data(static_cast<std::size_t>(size), Floats(count));
  for (auto& one : data) {
    for (auto& value : one) value = any(engine);
  }
  return data;
}

double mean_of(const std::vector<Floats>& data, std::size_t place) {
  double sum = 0;
  for (const auto& one : data) sum += static_cast<double>(one[place]);
  return sum / static_cast<double>(data.size());
}

TEST_CASE("compressed results are near and alike, by every algorithm") {
  for (const int size : {2, 3, 4, 9}) {
    auto group = inproc_wires(size);
    for (const auto algorithm : kAlgorithms) {
      for (const auto wire : {DType::kFloat16, DType::kBFloat16}) {
        for (const std::size_t count : {1U, 5U, 300001U}) {
          CAPTURE(size);
          CAPTURE(std::string(plan::name_of(algorithm)));
          group.assume(speeds_for(algorithm, count * 2));
          auto data = random_data(size, count, 7);
          const auto given = data;
          std::vector<Floats> none;
          reduce(group, data, none, {wire});
          const double unit = wire == DType::kFloat16 ? 0x1p-10 : 0x1p-7;
          int wrong = 0;
          for (std::size_t i = 0; i < count; ++i) {
            wrong += std::fabs(static_cast<double>(data[0][i]) - mean_of(given, i)) > unit * size;
          }
          CHECK(wrong == 0);
        }
      }
    }
  }
}

TEST_CASE("compressed values are half as many bytes") {
  auto group = inproc_wires(2);
  constexpr std::size_t kCount = 1 << 20;
  auto data = random_data(2, kCount, 1);
  std::vector<Floats> none;
  reduce(group, data, none, {DType::kBFloat16});
  for (int member = 0; member < 2; ++member) {
    CHECK(group.meter(member).sent_bytes == kCount * 2);  // 2 (n - 1) / n of them
    CHECK(group.meter(member).received_bytes == kCount * 2);
  }
}

TEST_CASE("with error feedback what rounding loses comes with the next calls") {
  constexpr int kCalls = 200;
  for (const int size : {2, 4, 9}) {
    auto group = inproc_wires(size);
    for (const auto algorithm : kAlgorithms) {
      CAPTURE(size);
      CAPTURE(std::string(plan::name_of(algorithm)));
      constexpr std::size_t kCount = 64;
      group.assume(speeds_for(algorithm, kCount * 2));
      const auto given = random_data(size, kCount, 3);
      std::vector<Floats> residuals(given.size(), Floats(kCount, 0));
      std::vector<double> total(kCount, 0);
      double worst_without = 0;
      for (int call = 0; call < kCalls; ++call) {
        auto data = given;
        reduce(group, data, residuals, {DType::kBFloat16});
        for (std::size_t i = 0; i < kCount; ++i) total[i] += static_cast<double>(data[0][i]);
      }
      auto once = given;
      std::vector<Floats> none;
      reduce(group, once, none, {DType::kBFloat16});
      int wrong = 0;
      for (std::size_t i = 0; i < kCount; ++i) {
        const double lost = total[i] - kCalls * mean_of(given, i);
        worst_without =
            std::max(worst_without, kCalls * std::fabs(static_cast<double>(once[0][i]) - mean_of(given, i)));
        wrong += std::fabs(lost) > 0.1;  // a few roundings, not hundreds
      }
      CHECK(wrong == 0);
      CHECK(worst_without > 0.2);
    }
  }
}

TEST_CASE(
    "a mean is taken of what was decompressed, and what is beyond the range becomes infinite everywhere") {
  for (const auto algorithm : {Algorithm::kExchange, Algorithm::kPairwise}) {
    auto group = inproc_wires(2);
    group.assume(speeds_for(algorithm, 6));
    std::vector<Floats> data{{1.0F, 70000.0F, 70000.0F}, {1e-4F, 70000.0F, 1.0F}};
    std::vector<Floats> residuals(2, Floats(3, 0));
    reduce(group, data, residuals, {DType::kFloat16});
    CHECK(data[0][0] >= 0.5F);
    CHECK(data[0][0] <= 0.5001F);
    CHECK(std::isinf(data[0][1]));
    CHECK(std::isinf(data[0][2]));
    for (const auto& one : residuals) {
      for (const float value : one) CHECK(std::isfinite(value));
    }
    std::vector<Floats> scaled{{70000.0F}, {70000.0F}};
    std::vector<Floats> none;
    reduce(group, scaled, none, {DType::kFloat16, ReduceOp::kSum, 0.25});
    CHECK(scaled[0][0] == 35008.0F);  // prescale comes before rounding: 2 * 17504
  }
}

TEST_CASE("compressed minimum and maximum are those of the rounded values") {
  for (const auto algorithm : {Algorithm::kExchange, Algorithm::kPairwise}) {
    auto group = inproc_wires(3);
    group.assume(speeds_for(algorithm, 4));
    std::vector<Floats> data{{1.0F, -3.0F}, {2.0F, 5.0F}, {0.25F, 4.0F}};
    std::vector<Floats> residuals(3, Floats(2, 0));
    reduce(group, data, residuals, {DType::kBFloat16, ReduceOp::kMax});
    CHECK(data[0] == Floats{2.0F, 5.0F});
  }
}

}  // namespace
