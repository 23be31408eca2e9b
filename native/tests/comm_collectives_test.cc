// Every collective over inproc, with every type, op, size and count.
#include <doctest/doctest.h>

#include <string>  // for string
#include <vector>  // for vector

#include "group.h"
#include "suites/collectives.h"
#include "values.h"

namespace {

using namespace ring;
using namespace ring::testing;

constexpr int kMostRanks = 4;
constexpr std::size_t kCounts[] = {0, 1, 3, 1000};
constexpr std::size_t kLarge = 100003;

TEST_CASE("allreduce: every dtype, op, size and count, out of place and in place") {
  for (int size = 1; size <= kMostRanks; ++size) {
    auto group = inproc_group(size);
    for (const auto dtype : kReducible) {
      for (const auto op : kOps) {
        for (const auto count : kCounts) {
          CAPTURE(name_of(dtype));
          CAPTURE(name_of(op));
          CAPTURE(size);
          CAPTURE(count);
          check_allreduce(group, dtype, op, count);
        }
      }
    }
  }
}

TEST_CASE("allreduce of many windows: every dtype, the plans of sum and of mean") {
  for (int size = 2; size <= kMostRanks; ++size) {
    auto group = inproc_group(size);
    for (const auto dtype : kReducible) {
      const bool both_plans = dtype == DType::kFloat32 || dtype == DType::kBFloat16;
      if (size != 3 && !both_plans) continue;
      CAPTURE(name_of(dtype));
      check_allreduce(group, dtype, ReduceOp::kMean, kLarge);
    }
  }
}

TEST_CASE("reducescatter: parts of any length, empty ones too") {
  for (int size = 1; size <= kMostRanks; ++size) {
    auto group = inproc_group(size);
    for (const auto dtype : kReducible) {
      for (const auto op : {ReduceOp::kSum, ReduceOp::kMean, ReduceOp::kMax}) {
        CAPTURE(name_of(dtype));
        check_reducescatter(group, dtype, op, uneven_counts(size, 5));
        check_reducescatter(group, dtype, op, uneven_counts(size, 12001));
        check_reducescatter(group, dtype, op, backend::Counts(group.size(), 0));
      }
    }
  }
}

TEST_CASE("allgather: every dtype, rows that differ by rank, in place too") {
  for (int size = 1; size <= kMostRanks; ++size) {
    auto group = inproc_group(size);
    for (int code = 0; code < kNumDTypes; ++code) {
      const auto dtype = static_cast<DType>(code);
      for (const bool in_place : {false, true}) {
        check_allgather(group, dtype, uneven_counts(size, 3), in_place);
        check_allgather(group, dtype, uneven_counts(size, 12007), in_place);
        check_allgather(group, dtype, backend::Counts(group.size(), 1), in_place);
      }
    }
  }
}

TEST_CASE("broadcast: every dtype and root, by tree and by chain") {
  for (int size = 1; size <= kMostRanks + 1; ++size) {
    auto group = inproc_group(size);
    for (int root = 0; root < size; ++root) {
      for (int code = 0; code < kNumDTypes; ++code) {
        for (const auto count : kCounts) check_broadcast(group, static_cast<DType>(code), root, count);
      }
      check_broadcast(group, DType::kFloat32, root, kLarge);
    }
  }
}

TEST_CASE("nobody leaves a barrier before everybody has come") {
  for (int size = 1; size <= 6; ++size) {
    auto group = inproc_group(size);
    std::vector<backend::WorkPtr> works;
    for (auto& communicator : group) {
      for (const auto& work : works) CHECK_FALSE(work->done());
      auto submitted = communicator.barrier({kPatience});
      REQUIRE(submitted);
      works.push_back(submitted.value());
    }
    for (const auto& work : works) CHECK(outcome(work).is_ok());
  }
}

TEST_CASE("a thousand collectives can be queued and come out in order") {
  auto group = inproc_group(2);
  constexpr std::size_t kDeep = 1000;
  std::vector<std::vector<std::int64_t>> values(2, std::vector<std::int64_t>(1, 1));
  std::vector<backend::WorkPtr> works;
  for (std::size_t i = 0; i < kDeep; ++i) {
    for (auto& c : group) {
      auto* data = reinterpret_cast<std::byte*>(values[place(c)].data());
      // Sum then mean: 1 -> 2 -> 2 -> 4 -> 4; only the right order ends in the right number.
      const auto op = i % 2 == 0 && i < 80 ? ReduceOp::kSum : ReduceOp::kMean;
      auto submitted = c.allreduce({data, data, DType::kInt64, op}, 1, {kPatience, std::to_string(i)});
      REQUIRE(submitted);
      works.push_back(submitted.value());
    }
  }
  for (const auto& work : works) CHECK(outcome(work).is_ok());
  CHECK(values[0][0] == std::int64_t{1} << 40);
  CHECK(values[1][0] == values[0][0]);
}

}  // namespace
