// Groups of some ranks: members, order, overlap, groups of groups, failures, and many of them.
#include <doctest/doctest.h>

#include <algorithm>  // for find
#include <cstdint>    // for int64_t
#include <optional>   // for optional
#include <string>     // for string
#include <thread>     // for thread
#include <vector>     // for vector

#include "group.h"

namespace {

using namespace ring;
using namespace ring::testing;

using Some = std::optional<Communicator>;

template <typename Play>
void on_threads(Group& group, Play play) {
  std::vector<std::thread> threads;
  for (auto& communicator : group) threads.emplace_back([&play, &communicator] { play(communicator); });
  for (auto& thread : threads) thread.join();
}

Some new_group(Communicator& parent, const std::vector<int>& ranks) {
  auto made = parent.new_group(ranks, {kPatience});
  return made ? std::move(made).value() : Some();
}

std::int64_t sum(Communicator& group, std::int64_t value) {
  auto* data = reinterpret_cast<std::byte*>(&value);
  const auto status =
      group.run(comm::allreduce_of({data, data, DType::kInt64, ReduceOp::kSum}, 1, {kPatience}));
  return status ? value : -1;
}

TEST_CASE("a group holds its ranks in the given order, others get none") {
  auto world = inproc_group(4);
  std::vector<std::int64_t> sums(4);
  std::vector<int> places(4, -1);
  on_threads(world, [&](Communicator& c) {
    auto group = new_group(c, {3, 1});
    const auto me = static_cast<std::size_t>(c.rank());
    if (group) {
      places[me] = group->rank();
      sums[me] = sum(*group, 10 + c.rank());
    }
  });
  CHECK(places == std::vector<int>{-1, 1, -1, 0});
  CHECK(sums == std::vector<std::int64_t>{0, 24, 0, 24});
}

TEST_CASE("overlapping groups and groups of groups take turns with the world") {
  auto world = inproc_group(4);
  std::vector<std::int64_t> totals(4);
  on_threads(world, [&](Communicator& c) {
    auto low = new_group(c, {0, 1, 2});
    auto high = new_group(c, {1, 2, 3});
    Some inner = low ? new_group(*low, {2, 0}) : Some();
    auto late = new_group(c, {2, 3});  // of ranks of which one knows nothing of `inner`
    std::int64_t total = 0;
    for (int i = 0; i < 20; ++i) {
      if (low) total += sum(*low, c.rank());
      if (high) total += sum(*high, c.rank());
      if (inner) total += sum(*inner, inner->rank());
      if (late) total += sum(*late, 10);
      total += sum(c, 1);
    }
    totals[static_cast<std::size_t>(c.rank())] = total;
  });
  CHECK(totals == std::vector<std::int64_t>{20 * (3 + 1 + 4), 20 * (3 + 6 + 4), 20 * (3 + 6 + 1 + 20 + 4),
                                            20 * (6 + 20 + 4)});
}

TEST_CASE("ranks that cannot form a group are refused, the ring lives") {
  for (const int size : {1, 2}) {
    auto world = inproc_group(size);
    for (const auto& ranks : {std::vector<int>{}, {0, 0}, {-1}, {2}}) {
      const auto refused = world[0].new_group(ranks, {kPatience});
      CHECK(refused.status().code() == Code::kInvalidArgument);
    }
    CHECK(all_ok(on_all(world, [](Communicator& c) { return c.barrier({kPatience}); })));
  }
}

TEST_CASE("ranks that name other members disagree") {
  auto world = inproc_group(2);
  std::vector<Status> seen(2);
  on_threads(world, [&](Communicator& c) {
    seen[static_cast<std::size_t>(c.rank())] =
        c.new_group(c.rank() == 0 ? std::vector<int>{0, 1} : std::vector<int>{1, 0}, {kPatience}).status();
  });
  for (const auto& status : seen) CHECK(status.code() == Code::kMismatch);
}

TEST_CASE("a failure in a group names ranks of the world and ends all groups") {
  auto world = inproc_group(3);
  std::vector<Status> seen(3);
  on_threads(world, [&](Communicator& c) {
    auto pair = new_group(c, {2, 1});
    auto& status = seen[static_cast<std::size_t>(c.rank())];
    if (pair) {
      status = pair->run(comm::barrier_of({kPatience, c.rank() == 1 ? "one" : "two"}));
    } else {
      status = c.run(comm::barrier_of({kPatience}));
    }
  });
  for (const auto& status : seen) CHECK(status.code() == Code::kMismatch);
  CHECK(seen[1].rank() == 2);
  CHECK(seen[2].rank() == 2);
  CHECK(seen[1].report().find("rank 2") != std::string::npos);
}

TEST_CASE("hundreds of groups") {
  auto world = inproc_group(2);
  std::vector<int> wrong(2);
  on_threads(world, [&](Communicator& c) {
    std::vector<Communicator> groups;
    for (int i = 0; i < 300; ++i) groups.push_back(*new_group(c, {0, 1}));
    for (auto& group : groups) wrong[static_cast<std::size_t>(c.rank())] += sum(group, 1) != 2;
  });
  CHECK(wrong == std::vector<int>{0, 0});
}

TEST_CASE("thousands of groups, each closed before the next, and operations behind a close") {
  auto world = inproc_group(2);
  std::vector<int> wrong(2);
  on_threads(world, [&](Communicator& c) {
    int& mine = wrong[static_cast<std::size_t>(c.rank())];
    for (int i = 0; i < 2000; ++i) {
      auto group = new_group(c, {1, 0});
      backend::WorkPtr last;
      if (i % 100 == 0) {
        last = group->submit(comm::barrier_of({kPatience})).value();
      } else {
        mine += sum(*group, 1) != 2;
      }
      group->close();
      group->close();
      if (last) mine += outcome(last) ? 0 : 1;
      mine += group->run(comm::barrier_of({kPatience})).code() == Code::kAborted ? 0 : 1;
    }
    mine += sum(c, 1) != 2;
  });
  CHECK(wrong == std::vector<int>{0, 0});
}

}  // namespace
