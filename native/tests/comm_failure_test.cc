// What happens when ranks disagree, die, stop or give up: one typed failure everywhere, soon, with who and
// why.
#include <doctest/doctest.h>

#include <chrono>  // for steady_clock
#include <string>  // for string
#include <thread>  // for thread
#include <vector>  // for vector

#include "group.h"
#include "values.h"

namespace {

using namespace ring;
using namespace ring::testing;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

struct Ask {
  std::uint64_t count = 4;
  DType dtype = DType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  std::string label = "weight";
};

Communicator::Submitted ask_allreduce(Communicator& c, std::vector<double>& buffer, const Ask& ask) {
  auto* data = reinterpret_cast<std::byte*>(buffer.data());
  return c.allreduce({data, data, ask.dtype, ask.op}, ask.count, {kPatience, ask.label});
}

// All ranks ask the same but for the last one; everybody must get kMismatch that shows `shown` of both sides.
void check_mismatch(int size, const Ask& odd, const std::string& shown, const std::string& odd_shown) {
  auto group = inproc_group(size);
  std::vector<std::vector<double>> buffers(group.size(), std::vector<double>(64, 1));
  const auto outcomes = on_all(group, [&](Communicator& c) {
    return ask_allreduce(c, buffers[static_cast<std::size_t>(c.rank())], c.rank() == size - 1 ? odd : Ask{});
  });
  for (const auto& status : outcomes) {
    CHECK(status.code() == Code::kMismatch);
    CHECK(contains(status.report(), shown));
    CHECK(contains(status.report(), odd_shown));
    CHECK(contains(status.report(), "rank " + std::to_string(size - 1)));
    CHECK(status.rank() == size - 1);  // alone among three; of two, the higher number
  }
}

TEST_CASE("ranks that disagree all get a mismatch naming both sides") {
  for (int size = 2; size <= 4; ++size) {
    check_mismatch(size, {8}, "float32 x 4, sum", "float32 x 8, sum");
    check_mismatch(size, {4, DType::kFloat64}, "float32 x 4", "float64 x 4");
    check_mismatch(size, {4, DType::kFloat32, ReduceOp::kMean}, "sum)", "mean)");
    check_mismatch(size, {4, DType::kFloat32, ReduceOp::kSum, "bias"}, "'weight'", "'bias'");
  }
}

TEST_CASE("labels that differ past what the header holds are told apart") {
  const std::string common(300, 'a');
  auto group = inproc_group(2);
  const auto outcomes = on_all(
      group, [&](Communicator& c) { return c.barrier({kPatience, common + (c.rank() == 0 ? "x" : "y")}); });
  for (const auto& status : outcomes) {
    CHECK(status.code() == Code::kMismatch);
    CHECK(contains(status.report(), "labels differ further on"));
  }
}

TEST_CASE("another collective, root or split is a mismatch") {
  std::vector<double> data(64, 1);
  auto* bytes = reinterpret_cast<std::byte*>(data.data());
  {
    auto group = inproc_group(3);
    const auto outcomes = on_all(group, [&](Communicator& c) {
      return c.rank() == 1 ? c.barrier({kPatience}) : c.broadcast(bytes, 1, DType::kInt32, 0, {kPatience});
    });
    for (const auto& status : outcomes) CHECK(status.code() == Code::kMismatch);
  }
  {
    auto group = inproc_group(3);
    const auto outcomes = on_all(group, [&](Communicator& c) {
      return c.broadcast(bytes, 1, DType::kInt32, c.rank() == 1, {kPatience});
    });
    for (const auto& status : outcomes) {
      CHECK(status.code() == Code::kMismatch);
      CHECK(contains(status.report(), "root 1"));
    }
  }
  {
    auto group = inproc_group(2);
    const auto outcomes = on_all(group, [&](Communicator& c) {
      const backend::Counts counts = c.rank() == 0 ? backend::Counts{3, 1} : backend::Counts{1, 3};
      auto* into = bytes + 128 * (c.rank() + 1);  // ranks share nothing
      return c.allgather(bytes, into, counts, DType::kInt32, {kPatience});
    });
    for (const auto& status : outcomes) CHECK(contains(status.report(), "other counts by rank"));
  }
}

TEST_CASE("a rank that is late by one collective is a mismatch by its number") {
  auto group = inproc_group(2);
  CHECK(all_ok(on_all(group, [](Communicator& c) { return c.barrier({kPatience}); })));
  std::vector<double> data(4);
  const auto lone = ask_allreduce(group[0], data, {});
  const auto other = group[1].barrier({kPatience, "epoch end"});
  CHECK(outcome(lone).code() == Code::kMismatch);
  CHECK(contains(outcome(other).report(), "barrier #2 'epoch end'"));
}

TEST_CASE("after a failure every later submit returns it at once, and the queue fails with it") {
  auto group = inproc_group(2);
  std::vector<double> data(64);
  const auto first = ask_allreduce(group[0], data, {4});
  const auto queued = group[0].barrier({kPatience, "never"});
  const auto other = ask_allreduce(group[1], data, {8});
  CHECK(outcome(first).code() == Code::kMismatch);
  CHECK(outcome(other).code() == Code::kMismatch);
  CHECK(outcome(queued).code() == Code::kMismatch);
  CHECK(contains(outcome(queued).report(), "barrier #2 'never' did not run"));
  const auto late = group[0].barrier({kPatience});
  REQUIRE_FALSE(late);
  CHECK(late.status().code() == Code::kMismatch);
  CHECK(late.status().rank() == 1);
}

// Meshes of which one never gets an engine: a rank that is there and does not answer.
struct SilentRank {
  Group group;
  transport::Mesh silent;
};

SilentRank group_with_silent_last(int size) {
  auto meshes = transport::inproc_meshes(size);
  REQUIRE(meshes);
  auto all = std::move(meshes).value();
  transport::Mesh silent = std::move(all.back());
  all.pop_back();
  return {start_group(std::move(all)), std::move(silent)};
}

TEST_CASE("a rank that does not answer is named by every rank, also by those that waited for others") {
  for (int size = 2; size <= 5; ++size) {
    auto ranks = group_with_silent_last(size);
    const auto start = Clock::now();
    const auto outcomes = on_all(ranks.group, [](Communicator& c) { return c.barrier({0.3, "stuck"}); });
    CHECK(seconds_since(start) < 5);
    for (const auto& status : outcomes) {
      CHECK(status.code() == Code::kCollectiveTimeout);
      CHECK(status.rank() == size - 1);
      CHECK(contains(status.report(), "'stuck'"));
      CHECK(contains(status.report(), "0.30 s"));
    }
  }
}

TEST_CASE("a peer that dies is seen at once, during a collective, by all, and by rank") {
  for (int size = 2; size <= 4; ++size) {
    auto ranks = group_with_silent_last(size);
    std::vector<Communicator::Submitted> works;
    for (auto& c : ranks.group) works.push_back(c.barrier({kPatience}));
    const auto start = Clock::now();
    ranks.silent = {};  // what the kernel does to the descriptors of a killed process
    for (const auto& work : works) {
      CHECK(outcome(work).code() == Code::kPeerLost);
      CHECK(outcome(work).rank() == size - 1);
    }
    CHECK(seconds_since(start) < 5);
  }
}

TEST_CASE("a peer that dies is seen while nothing runs") {
  auto ranks = group_with_silent_last(3);
  ranks.silent = {};
  const auto give_up = Clock::now() + std::chrono::seconds(30);
  auto submitted = ranks.group[0].barrier({kPatience});
  CHECK(outcome(submitted).code() == Code::kPeerLost);
  while (ranks.group[1].barrier({kPatience}) && Clock::now() < give_up) std::this_thread::yield();
  CHECK(ranks.group[1].barrier({kPatience}).status().rank() == 2);
}

TEST_CASE("abort reaches every rank with the reason and who gave it") {
  auto group = inproc_group(3);
  std::vector<Communicator::Submitted> works;
  works.push_back(group[0].barrier({kPatience}));
  works.push_back(group[2].barrier({kPatience}));
  group[1].abort("ValueError: bad row 7");
  for (const auto& work : works) {
    CHECK(outcome(work).code() == Code::kAborted);
    CHECK(outcome(work).rank() == 1);
    CHECK(contains(outcome(work).report(), "ValueError: bad row 7"));
  }
  const auto own = group[1].barrier({kPatience});
  REQUIRE_FALSE(own);
  CHECK(own.status().rank() == 1);
}

TEST_CASE("two communicators: abort A then B while a peer of B is dead in a large reduce") {
  auto a = inproc_group(2);
  auto b = group_with_silent_last(2);
  const std::uint64_t count = 1 << 20;
  std::vector<float> data(count, 1);
  auto* bytes = reinterpret_cast<std::byte*>(data.data());
  auto on_a = a[0].barrier({kPatience});
  auto on_b = b.group[0].allreduce({bytes, bytes, DType::kFloat32, ReduceOp::kSum}, count, {kPatience});
  const auto start = Clock::now();
  a[0].abort("giving up A");
  b.group[0].abort("giving up B");
  CHECK(outcome(on_a).code() == Code::kAborted);
  CHECK(outcome(on_b).code() == Code::kAborted);
  for (auto* communicator : {&a[0], &a[1], &b.group[0]}) communicator->close();
  CHECK(seconds_since(start) < 10);
}

TEST_CASE("closing in order harms nobody until somebody needs the one that left") {
  auto group = inproc_group(3);
  CHECK(all_ok(on_all(group, [](Communicator& c) { return c.barrier({kPatience}); })));
  group[2].close();
  group[2].close();
  const auto work = group[0].barrier({kPatience});
  CHECK(outcome(work).code() == Code::kPeerLost);
  CHECK(outcome(work).rank() == 2);
  CHECK(group[2].barrier({kPatience}).status().code() == Code::kAborted);
}

TEST_CASE("closing with work pending tells the peers instead of leaving them waiting") {
  auto group = inproc_group(2);
  std::vector<double> data(4);
  const auto pending = ask_allreduce(group[0], data, {});
  group[0].close();
  CHECK(outcome(pending).code() == Code::kAborted);
  CHECK(heard_failure(group[1]).rank() == 0);
  CHECK(outcome(ask_allreduce(group[1], data, {})).rank() == 0);
}

TEST_CASE("handles, threads and aborts from many threads at once") {
  for (int round = 0; round < 20; ++round) {
    auto group = inproc_group(2);
    std::vector<std::thread> threads;
    for (auto& communicator : group) {
      threads.emplace_back([handle = communicator]() mutable {
        while (handle.barrier({kPatience})) std::this_thread::yield();
      });
    }
    threads.emplace_back([handle = group[0]]() mutable { handle.abort("first"); });
    threads.emplace_back([handle = group[1]]() mutable { handle.abort("second"); });
    for (auto& thread : threads) thread.join();
  }
}

}  // namespace
