// Blocking calls: run by their own thread when the engine is idle, in submission order with queued ones, and
// ended from outside.
#include <doctest/doctest.h>

#include <atomic>   // for atomic
#include <chrono>   // for milliseconds
#include <cstdint>  // for int64_t
#include <string>   // for string
#include <thread>   // for thread
#include <vector>   // for vector

#include "group.h"

namespace {

using namespace ring;
using namespace ring::testing;

comm::Operation sum_of(std::int64_t* value, std::string_view label = {}) {
  auto* data = reinterpret_cast<std::byte*>(value);
  return comm::allreduce_of({data, data, DType::kInt64, ReduceOp::kSum}, 1, {kPatience, label});
}

// Plays `play` for every rank in a thread of its own.
template <typename Play>
void on_threads(Group& group, Play play) {
  std::vector<std::thread> threads;
  for (auto& communicator : group) threads.emplace_back([&play, &communicator] { play(communicator); });
  for (auto& thread : threads) thread.join();
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("a blocking call on an idle engine runs in its own thread") {
  for (int size = 1; size <= 4; ++size) {
    auto group = inproc_group(size);
    std::atomic<int> wrong{0};
    on_threads(group, [&](Communicator& c) {
      for (int i = 0; i < 50; ++i) {
        std::int64_t value = c.rank() + 1;
        if (!c.run(sum_of(&value, "step")) || value != size * (size + 1) / 2) ++wrong;
      }
    });
    CHECK(wrong == 0);
    for (auto& c : group) {
      for (const auto& record : c.engine().recent()) CHECK(record.is_inline);
    }
  }
}

TEST_CASE("blocking and queued calls keep the order in which they were made") {
  auto group = inproc_group(2);
  std::atomic<int> wrong{0};
  on_threads(group, [&](Communicator& c) {
    std::int64_t value = 1;
    std::int64_t expected = 1;
    for (int i = 0; i < 40; ++i) {  // doubling and setting to one do not commute
      std::vector<backend::WorkPtr> works;
      for (int queued = 0; queued < i % 3; ++queued) {
        works.push_back(c.submit(sum_of(&value)).value());
        expected *= 2;
      }
      auto* data = reinterpret_cast<std::byte*>(&value);
      if (!c.run(comm::allreduce_of({data, data, DType::kInt64, ReduceOp::kMean}, 1, {kPatience}))) ++wrong;
      for (const auto& work : works) wrong += work->done() ? 0 : 1;  // the later call has ended
      if (expected > 1 << 20) value = expected = 1;
    }
    if (value != expected) ++wrong;
  });
  CHECK(wrong == 0);
}

TEST_CASE("many threads of one rank: every call has one place in the order of all ranks") {
  auto group = inproc_group(2);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (auto& c : group) {
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&wrong, handle = c]() mutable {
        for (int i = 0; i < 100; ++i) {
          std::int64_t value = 1;
          if (i % 2 == 0) {
            if (!handle.run(sum_of(&value)) || value != 2) ++wrong;
          } else {
            const auto work = handle.submit(sum_of(&value));
            if (!outcome(work) || value != 2) ++wrong;
          }
        }
      });
    }
  }
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("abort and close from another thread end a blocking call") {
  for (const bool by_close : {false, true}) {
    auto group = inproc_group(2);
    Status status;
    std::thread caller([&] { status = group[0].run(comm::barrier_of({kPatience, "alone"})); });
    while (group[0].engine().recent().empty()) std::this_thread::yield();
    if (by_close) {
      group[0].close();
    } else {
      group[0].abort("enough");
    }
    caller.join();
    CHECK(status.code() == Code::kAborted);
    CHECK(status.rank() == 0);
    CHECK(contains(status.report(), by_close ? "closed its communicator" : "enough"));
    CHECK(contains(status.report(), "barrier #1 'alone' failed"));
    CHECK(heard_failure(group[1]).rank() == 0);
  }
}

TEST_CASE("a caller that gives up ends its call, running or queued, and all ranks learn of it") {
  for (const bool queued : {false, true}) {
    auto group = inproc_group(2);
    std::int64_t value = 1;
    Communicator::Submitted before = queued ? group[0].submit(sum_of(&value)) : group[0].submit({});
    CHECK(before.is_ok() == queued);
    const comm::Engine::Check give_up = [] { return true; };
    const Status status = group[0].run(comm::barrier_of({kPatience}), &give_up);
    CHECK(status.code() == Code::kAborted);
    CHECK(contains(status.report(), "rank 0 was interrupted"));
    CHECK(contains(heard_failure(group[1]).report(), "rank 0 was interrupted"));
    CHECK_FALSE(outcome(group[1].barrier({kPatience})).is_ok());
  }
}

TEST_CASE("a failure of a blocking call is what all later calls get") {
  auto group = inproc_group(2);
  std::vector<Status> seen(2);
  on_threads(group, [&](Communicator& c) {
    seen[static_cast<std::size_t>(c.rank())] =
        c.run(comm::barrier_of({kPatience, c.rank() == 0 ? "one" : "other"}));
  });
  for (auto& c : group) {
    CHECK(seen[static_cast<std::size_t>(c.rank())].code() == Code::kMismatch);
    CHECK(c.run(comm::barrier_of({kPatience})).code() == Code::kMismatch);
    CHECK(c.barrier({kPatience}).status().code() == Code::kMismatch);
  }
}

TEST_CASE("aborts and closes race with blocking and queued calls") {
  for (int round = 0; round < 30; ++round) {
    auto group = inproc_group(2);
    std::vector<std::thread> threads;
    for (auto& c : group) {
      threads.emplace_back([handle = c]() mutable {
        while (handle.run(comm::barrier_of({kPatience}))) continue;
      });
      threads.emplace_back([handle = c]() mutable {
        while (handle.barrier({kPatience})) std::this_thread::yield();
      });
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100 * (round % 5)));
    if (round % 2 == 0) group[0].abort("first");
    group[1].close();
    group[0].close();
    for (auto& thread : threads) thread.join();
  }
}

}  // namespace
