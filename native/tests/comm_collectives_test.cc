// Every collective over inproc against a float64 reference.
#include <doctest/doctest.h>

#include <numeric>  // for accumulate
#include <string>   // for string
#include <vector>   // for vector

#include "group.h"
#include "values.h"

namespace {

using namespace ring;
using namespace ring::testing;

constexpr int kMostRanks = 4;
constexpr std::size_t kCounts[] = {0, 1, 3, 1000, 100003};
constexpr DType kReducible[] = {DType::kUint8,    DType::kInt32,   DType::kInt64,  DType::kFloat16,
                                DType::kBFloat16, DType::kFloat32, DType::kFloat64};
constexpr ReduceOp kOps[] = {ReduceOp::kSum, ReduceOp::kMean, ReduceOp::kMin, ReduceOp::kMax,
                             ReduceOp::kProduct};
// Each op once with all types, each type once with all ops, at the large count: the rest differs by plan
// only.
bool is_thinned(std::size_t count, ReduceOp op, DType dtype) {
  return count > 1000 && op != ReduceOp::kMean && dtype != DType::kFloat32 && dtype != DType::kBFloat16;
}

std::vector<Array> inputs(DType dtype, ReduceOp op, int size, std::size_t count) {
  std::vector<Array> arrays;
  for (int rank = 0; rank < size; ++rank) arrays.push_back(filled(dtype, op, rank, count));
  return arrays;
}

std::size_t place(const Communicator& communicator) {
  return static_cast<std::size_t>(communicator.rank());
}

int count_wrong(const Array& result, ReduceOp op, int size, std::size_t offset = 0) {
  int wrong = 0;
  for (std::size_t i = 0; i < result.count(); ++i) {
    wrong += !is_near(result.dtype(), result.get(i), expected_at(result.dtype(), op, size, offset + i));
  }
  return wrong;
}

void check_allreduce(Group& group, DType dtype, ReduceOp op, std::size_t count) {
  const int size = static_cast<int>(group.size());
  const auto given = inputs(dtype, op, size, count);
  auto out = std::vector<Array>(group.size(), Array(dtype, count));
  auto in_place = given;
  CHECK(all_ok(on_all(group, [&](Communicator& c) {
    return c.allreduce({given[place(c)].data(), out[place(c)].data(), dtype, op}, count, {kPatience, "out"});
  })));
  CHECK(all_ok(on_all(group, [&](Communicator& c) {
    return c.allreduce({in_place[place(c)].data(), in_place[place(c)].data(), dtype, op}, count, {kPatience});
  })));
  CHECK(count_wrong(out[0], op, size) == 0);
  for (std::size_t rank = 0; rank < group.size(); ++rank) {
    CHECK(out[rank] == out[0]);  // the same bits on all ranks
    CHECK(in_place[rank] == out[0]);
    CHECK(given[rank] == filled(dtype, op, static_cast<int>(rank), count));  // the input is left alone
  }
}

TEST_CASE("allreduce: every dtype, op, size and count, out of place and in place") {
  for (int size = 1; size <= kMostRanks; ++size) {
    auto group = inproc_group(size);
    for (const auto dtype : kReducible) {
      for (const auto op : kOps) {
        for (const auto count : kCounts) {
          if (is_thinned(count, op, dtype)) continue;
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

backend::Counts uneven_counts(int size, std::size_t scale) {
  backend::Counts counts;
  for (int rank = 0; rank < size; ++rank) counts.push_back(static_cast<std::size_t>(size - 1 - rank) * scale);
  counts.back() += 2;
  return counts;
}

void check_reducescatter(Group& group, DType dtype, ReduceOp op, const backend::Counts& counts) {
  const int size = static_cast<int>(group.size());
  const auto total = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  const auto given = inputs(dtype, op, size, total);
  std::vector<Array> out;
  for (const auto count : counts) out.emplace_back(dtype, count);
  CHECK(all_ok(on_all(group, [&](Communicator& c) {
    return c.reducescatter({given[place(c)].data(), out[place(c)].data(), dtype, op}, counts, {kPatience});
  })));
  std::size_t offset = 0;
  for (std::size_t rank = 0; rank < group.size(); ++rank) {
    CHECK(count_wrong(out[rank], op, size, offset) == 0);
    CHECK(given[rank] == filled(dtype, op, static_cast<int>(rank), total));
    offset += counts[rank];
  }
}

TEST_CASE("reducescatter: parts of any length, empty ones too") {
  for (int size = 1; size <= kMostRanks; ++size) {
    auto group = inproc_group(size);
    for (const auto dtype : kReducible) {
      for (const auto op : {ReduceOp::kSum, ReduceOp::kMean, ReduceOp::kMax}) {
        CAPTURE(name_of(dtype));
        check_reducescatter(group, dtype, op, uneven_counts(size, 5));
        check_reducescatter(group, dtype, op, uneven_counts(size, 40001));
        check_reducescatter(group, dtype, op, backend::Counts(group.size(), 0));
      }
    }
  }
}

void check_allgather(Group& group, DType dtype, const backend::Counts& counts, bool in_place) {
  const auto total = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  Array expected(dtype, total);
  auto out = std::vector<Array>(group.size(), Array(dtype, total));
  std::vector<Array> given;
  std::size_t offset = 0;
  for (std::size_t rank = 0; rank < group.size(); ++rank) {
    given.push_back(filled(dtype, ReduceOp::kSum, static_cast<int>(rank), counts[rank]));
    for (std::size_t i = 0; i < counts[rank]; ++i) {
      expected.set(offset + i, given[rank].get(i));
      out[rank].set(offset + i, given[rank].get(i));
    }
    offset += counts[rank];
  }
  CHECK(all_ok(on_all(group, [&](Communicator& c) {
    std::size_t before = 0;
    for (std::size_t rank = 0; rank < place(c); ++rank) before += counts[rank];
    const auto* send = in_place ? out[place(c)].data() + before * size_of(dtype) : given[place(c)].data();
    return c.allgather(send, out[place(c)].data(), counts, dtype, {kPatience});
  })));
  for (const auto& one : out) CHECK(one == expected);
}

TEST_CASE("allgather: every dtype, rows that differ by rank, in place too") {
  for (int size = 1; size <= kMostRanks; ++size) {
    auto group = inproc_group(size);
    for (int code = 0; code < kNumDTypes; ++code) {
      const auto dtype = static_cast<DType>(code);
      for (const bool in_place : {false, true}) {
        check_allgather(group, dtype, uneven_counts(size, 3), in_place);
        check_allgather(group, dtype, uneven_counts(size, 30011), in_place);
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
        const auto dtype = static_cast<DType>(code);
        for (const auto count : kCounts) {
          auto arrays = inputs(dtype, ReduceOp::kSum, size, count);
          const Array expected = arrays[static_cast<std::size_t>(root)];
          CHECK(all_ok(on_all(group, [&](Communicator& c) {
            return c.broadcast(arrays[place(c)].data(), count, dtype, root, {kPatience});
          })));
          for (const auto& one : arrays) CHECK(one == expected);
        }
      }
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
