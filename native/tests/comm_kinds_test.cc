// Alltoall and grouped allreduce: uneven parts, small and large members, and what is refused.
#include <doctest/doctest.h>

#include <cstdint>  // for int64_t
#include <vector>   // for vector

#include "group.h"
#include "suites/collectives.h"
#include "values.h"

namespace {

using namespace ring;
using namespace ring::testing;

// Rank r sends (r + 1) * scale + p elements to rank p; each is 100 r + p.
std::uint64_t sent(std::size_t from, std::size_t to, std::uint64_t scale) {
  return scale == 0 ? 0 : (from + 1) * scale + to;
}

struct Exchange {
  std::vector<std::int64_t> send;
  std::vector<std::int64_t> recv;
  std::vector<std::int64_t> expected;
  backend::Counts out;
  backend::Counts in;
};

Exchange exchange_of(std::size_t rank, std::size_t size, std::uint64_t scale) {
  Exchange e;
  for (std::size_t peer = 0; peer < size; ++peer) {
    e.out.push_back(sent(rank, peer, scale));
    e.in.push_back(sent(peer, rank, scale));
    e.send.insert(e.send.end(), e.out.back(), static_cast<std::int64_t>(100 * rank + peer));
    e.expected.insert(e.expected.end(), e.in.back(), static_cast<std::int64_t>(100 * peer + rank));
  }
  e.recv.resize(e.expected.size());
  return e;
}

TEST_CASE("alltoall: every rank gets what each has for it, uneven and empty parts too") {
  for (std::size_t size = 1; size <= 5; ++size) {
    auto group = inproc_group(static_cast<int>(size));
    for (const std::uint64_t scale : {0U, 1U, 7001U}) {
      std::vector<Exchange> all;
      for (std::size_t rank = 0; rank < size; ++rank) all.push_back(exchange_of(rank, size, scale));
      CHECK(all_ok(on_all(group, [&](Communicator& c) {
        auto& e = all[place(c)];
        return c.submit(comm::alltoall_of(reinterpret_cast<const std::byte*>(e.send.data()), e.out,
                                          reinterpret_cast<std::byte*>(e.recv.data()), e.in, DType::kInt64,
                                          {kPatience}));
      })));
      for (const auto& e : all) CHECK(e.recv == e.expected);
    }
  }
}

TEST_CASE("alltoall refuses counts that cannot be") {
  auto group = inproc_group(2);
  std::byte data[16];
  for (const auto& [out, in] :
       {std::pair<backend::Counts, backend::Counts>{{1}, {1, 1}}, {{1, 1}, {1}}, {{1, 1}, {2, 1}}}) {
    const auto refused = group[0].submit(comm::alltoall_of(data, out, data, in, DType::kUint8, {kPatience}));
    CHECK(refused.status().code() == Code::kInvalidArgument);
  }
}

std::vector<comm::Member> members_of(std::vector<Array>& arrays) {
  std::vector<comm::Member> members;
  for (auto& array : arrays) members.push_back({array.data(), array.data(), array.count(), array.dtype()});
  return members;
}

TEST_CASE("grouped allreduce: the same as its members one by one") {
  const std::vector<std::pair<DType, std::size_t>> shapes = {
      {DType::kFloat32, 3}, {DType::kFloat32, 0},  {DType::kFloat32, 1000}, {DType::kFloat32, 100003},
      {DType::kFloat32, 5}, {DType::kBFloat16, 7}, {DType::kBFloat16, 9},   {DType::kInt64, 70001},
      {DType::kInt64, 4},   {DType::kFloat32, 2}};
  for (int size = 1; size <= 4; ++size) {
    auto group = inproc_group(size);
    for (const auto op : {ReduceOp::kSum, ReduceOp::kMean, ReduceOp::kMax}) {
      std::vector<std::vector<Array>> arrays(group.size());
      for (int rank = 0; rank < size; ++rank) {
        for (const auto& [dtype, count] : shapes)
          arrays[static_cast<std::size_t>(rank)].push_back(filled(dtype, op, rank, count));
      }
      CHECK(all_ok(on_all(group, [&](Communicator& c) {
        return c.submit(comm::grouped_allreduce_of(members_of(arrays[place(c)]), op, {kPatience}));
      })));
      for (const auto& mine : arrays) {
        for (std::size_t i = 0; i < mine.size(); ++i) {
          CHECK(count_wrong(mine[i], op, size) == 0);
          CHECK(mine[i] == arrays[0][i]);
        }
      }
    }
  }
}

TEST_CASE("grouped allreduce: members that differ are a mismatch, bool is refused") {
  auto group = inproc_group(2);
  std::vector<Array> flags(1, Array(DType::kBool, 3));
  CHECK(group[0]
            .submit(comm::grouped_allreduce_of(members_of(flags), ReduceOp::kSum, {kPatience}))
            .status()
            .code() == Code::kInvalidArgument);
  std::vector<std::vector<Array>> arrays = {{Array(DType::kInt32, 3), Array(DType::kInt32, 4)},
                                            {Array(DType::kInt32, 4), Array(DType::kInt32, 3)}};
  for (const auto& status : on_all(group, [&](Communicator& c) {
         return c.submit(
             comm::grouped_allreduce_of(members_of(arrays[place(c)]), ReduceOp::kSum, {kPatience}));
       })) {
    CHECK(status.code() == Code::kMismatch);
  }
}

TEST_CASE("the recorder keeps the last operations, sums by kind, and a trace when asked") {
  auto group = inproc_group(1);
  CHECK(group[0].engine().recent().empty());
  group[0].engine().trace(3);
  std::vector<Array> one(1, Array(DType::kInt32, 4));
  for (int i = 0; i < 300; ++i) CHECK(group[0].run(comm::barrier_of({kPatience, "b"})));
  CHECK(group[0].run(comm::grouped_allreduce_of(members_of(one), ReduceOp::kSum, {kPatience, "grads"})));
  const auto recent = group[0].engine().recent();
  REQUIRE(recent.size() == 256);
  CHECK(recent.back().text() == "grouped allreduce #301 'grads' (16 bytes)");
  CHECK(recent.back().end_ns >= recent.back().start_ns);
  CHECK(recent.front().sequence == 46);
  const auto counters = group[0].engine().counters();
  CHECK(counters[static_cast<std::size_t>(comm::Kind::kBarrier)].calls == 300);
  CHECK(counters[static_cast<std::size_t>(comm::Kind::kGroupedAllreduce)].bytes == 16);
  CHECK(group[0].engine().take_trace().size() == 3);
  CHECK(group[0].engine().take_trace().empty());
}

}  // namespace
