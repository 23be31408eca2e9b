// The end of a communicator with operations in flight: by aborts from any thread, by its destruction.
#include <doctest/doctest.h>

#include <string>  // for string, to_string
#include <thread>  // for thread
#include <vector>  // for vector

#include "group.h"
#include "meet.h"

namespace {

using namespace ring;
using namespace ring::testing;

constexpr std::size_t kCount = 300'000;
constexpr int kRanks = 3;
constexpr int kQueued = 4;

Group group_over(const std::string& transport) {
  return transport == "inproc" ? inproc_group(kRanks) : start_group(met_meshes(kRanks, transport));
}

// Several large collectives of every rank but the last, which lets all others wait.
struct Flight {
  explicit Flight(Group& group) : buffers(group.size(), std::vector<float>(kCount, 1)) {
    for (int turn = 0; turn < kQueued; ++turn) {
      for (std::size_t rank = 0; rank + 1 < group.size(); ++rank) {
        auto* bytes = reinterpret_cast<std::byte*>(buffers[rank].data());
        auto work =
            group[rank].allreduce({bytes, bytes, DType::kFloat32, ReduceOp::kSum}, kCount, {kPatience});
        REQUIRE(work);
        works.push_back(std::move(work).value());
      }
    }
  }
  std::vector<std::vector<float>> buffers;
  std::vector<backend::WorkPtr> works;
};

}  // namespace

TEST_CASE("aborts from many threads end all that is in flight with one of their reasons") {
  for (const std::string transport : {"inproc", "shm", "tcp"}) {
    CAPTURE(transport);
    auto group = group_over(transport);
    const Flight flight(group);
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; ++i) {
      threads.emplace_back([i, handle = group[static_cast<std::size_t>(i % kRanks)]]() mutable {
        handle.abort("reason " + std::to_string(i));
      });
    }
    for (auto& thread : threads) thread.join();
    for (const auto& work : flight.works) {
      const Status status = outcome(work);
      CHECK(status.code() == Code::kAborted);
      CHECK(status.rank() >= 0);
      CHECK(status.report().find("aborted: reason ") != std::string::npos);
    }
    for (auto& c : group) CHECK(heard_failure(c).code() == Code::kAborted);
  }
}

TEST_CASE("a communicator that is destroyed ends what is in flight, here and at its peers") {
  for (const std::string transport : {"inproc", "shm", "tcp"}) {
    CAPTURE(transport);
    auto group = group_over(transport);
    const Flight flight(group);
    group.erase(group.begin());  // the last handle of rank 0
    for (const auto& work : flight.works) {
      const Status status = outcome(work);
      CHECK(status.code() == Code::kAborted);
      CHECK(status.rank() == 0);
      CHECK(status.report().find("closed its communicator while") != std::string::npos);
    }
    CHECK(heard_failure(group.back()).rank() == 0);
  }
}

TEST_CASE("all ranks of a process are destroyed at once with operations in flight") {
  for (const std::string transport : {"inproc", "shm", "tcp"}) {
    auto group = group_over(transport);
    const Flight flight(group);
    std::vector<std::thread> threads;
    for (auto& c : group) {
      threads.emplace_back(
          [handle = std::move(c)]() mutable { const Communicator last = std::move(handle); });
    }
    for (auto& thread : threads) thread.join();
    for (const auto& work : flight.works) CHECK_FALSE(outcome(work).is_ok());
  }
}

TEST_CASE("a data connection that is cut while its rank lives is a lost peer, long before the deadline") {
  auto meshes = met_meshes(2, "tcp");
  transport::Mesh mute = std::move(meshes.back());
  meshes.pop_back();
  auto group = start_group(std::move(meshes));
  const auto work = group[0].barrier({kPatience});
  mute.links[0]->close();
  const Status status = outcome(work);
  CHECK(status.code() == Code::kPeerLost);
  CHECK(status.rank() == 1);
  CHECK(status.report().find("data connection has ended") != std::string::npos);
}

TEST_CASE("a rank that left is missed at once, also by one that still waits for a third") {
  for (const std::string transport : {"inproc", "shm", "tcp"}) {
    CAPTURE(transport);
    auto group = group_over(transport);
    CHECK(all_ok(on_all(group, [](Communicator& c) { return c.barrier({kPatience}); })));
    const auto waiting = group[0].barrier({1000});
    group[2].close();
    const Status status = outcome(waiting);  // rank 1 has not come
    CHECK(status.code() == Code::kPeerLost);
    CHECK(status.rank() == 2);
    CHECK(status.report().find("closed its communicator while this rank still needs it") !=
          std::string::npos);
    CHECK(heard_failure(group[1]).rank() == 2);
  }
}
