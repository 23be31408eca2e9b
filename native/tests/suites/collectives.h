// What each collective must do, checked against a float64 reference; used over every transport.
#pragma once

#include <doctest/doctest.h>

#include <numeric>  // for accumulate
#include <vector>   // for vector

#include "group.h"
#include "suites/reducible.h"
#include "values.h"

namespace ring::testing {

inline std::vector<Array> inputs(DType dtype, ReduceOp op, int size, std::size_t count) {
  std::vector<Array> arrays;
  for (int rank = 0; rank < size; ++rank) arrays.push_back(filled(dtype, op, rank, count));
  return arrays;
}

inline std::size_t place(const Communicator& communicator) {
  return static_cast<std::size_t>(communicator.rank());
}

inline int count_wrong(const Array& result, ReduceOp op, int size, std::size_t offset = 0) {
  int wrong = 0;
  for (std::size_t i = 0; i < result.count(); ++i) {
    wrong += !is_near(result.dtype(), result.get(i), expected_at(result.dtype(), op, size, offset + i));
  }
  return wrong;
}

inline void check_allreduce(Group& group, DType dtype, ReduceOp op, std::size_t count) {
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

inline backend::Counts uneven_counts(int size, std::size_t scale) {
  backend::Counts counts;
  for (int rank = 0; rank < size; ++rank) counts.push_back(static_cast<std::size_t>(size - 1 - rank) * scale);
  counts.back() += 2;
  return counts;
}

inline void check_reducescatter(Group& group, DType dtype, ReduceOp op, const backend::Counts& counts) {
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

inline void check_allgather(Group& group, DType dtype, const backend::Counts& counts, bool in_place) {
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

inline void check_broadcast(Group& group, DType dtype, int root, std::size_t count) {
  auto arrays = inputs(dtype, ReduceOp::kSum, static_cast<int>(group.size()), count);
  const Array expected = arrays[static_cast<std::size_t>(root)];
  CHECK(all_ok(on_all(group, [&](Communicator& c) {
    return c.broadcast(arrays[place(c)].data(), count, dtype, root, {kPatience});
  })));
  for (const auto& one : arrays) CHECK(one == expected);
}

}  // namespace ring::testing
