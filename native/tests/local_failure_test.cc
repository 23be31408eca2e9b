// What members of a host see when one disagrees, stays away, is stopped or has no memory.
#include <doctest/doctest.h>

#include <chrono>  // for milliseconds
#include <string>  // for string
#include <thread>  // for sleep_for

#include "local_ranks.h"

namespace {

using namespace ring;
using namespace ring::testing;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Status barrier(algo::Local& local, const std::string& name, double timeout_s = kLocalPatience) {
  const TextAgreement what(name);
  return local.barrier({what, timeout_s});
}

TEST_CASE("ranks that disagree all learn what both sides call") {
  for (const int size : {2, 3, 5}) {
    LocalRanks ranks(size);
    CHECK(ranks.all_ok([](algo::Local& local, std::size_t) { return barrier(local, "start"); }));
    const auto odd = static_cast<std::size_t>(size - 1);
    const auto outcomes = ranks.on_all([&](algo::Local& local, std::size_t index) {
      return barrier(local, index == odd ? "saving" : "loading");
    });
    for (const auto& status : outcomes) {
      CHECK(status.code() == Code::kMismatch);
      CHECK(contains(status.message(), "saving"));
      CHECK(contains(status.message(), "loading"));
      if (size > 2) CHECK(status.rank() == size - 1);  // it is alone with what it calls
    }
  }
}

TEST_CASE("a disagreement is seen before the data, of any size") {
  LocalRanks ranks(2);
  std::vector<float> data(200'000);
  auto* bytes = reinterpret_cast<std::byte*>(data.data());
  const auto outcomes = ranks.on_all([&](algo::Local& local, std::size_t index) {
    const TextAgreement what(index == 0 ? "large" : "small");
    const backend::Call call{what, kLocalPatience};
    if (index == 1) return local.broadcast(MutableBytes(bytes, 4), 0, call);
    std::vector<float> mine(200'000);
    auto* own = reinterpret_cast<std::byte*>(mine.data());
    return local.allreduce({own, own, DType::kFloat32, ReduceOp::kSum}, {}, 200'000, call);
  });
  for (const auto& status : outcomes) CHECK(status.code() == Code::kMismatch);
}

TEST_CASE("a deadline names the rank that stays away, also to those who wait for others") {
  for (const int size : {2, 3, 4}) {
    LocalRanks ranks(size);
    CHECK(ranks.all_ok([](algo::Local& local, std::size_t) { return barrier(local, "start"); }));
    const auto outcomes = ranks.on_all([&](algo::Local& local, std::size_t index) {
      return index == 0 ? Status::ok() : barrier(local, "epoch end", 0.2);
    });
    for (std::size_t index = 1; index < outcomes.size(); ++index) {
      CHECK(outcomes[index].code() == Code::kCollectiveTimeout);
      CHECK(outcomes[index].rank() == 0);
      CHECK(contains(outcomes[index].message(), "waited 0.20 s for rank 0"));
      CHECK(contains(outcomes[index].message(), "epoch end"));
    }
  }
}

// What a member of the first group shows to the others.
shm::Control& control(LocalRanks& ranks, int member) {
  const auto& layout = ranks.segment()->layout();
  return *reinterpret_cast<shm::Control*>(ranks.segment()->base() + layout.groups_begin() + shm::kHugePage +
                                          layout.member_bytes() * static_cast<std::uint64_t>(member));
}

// Rank 2 comes to the meeting and never publishes its piece; rank 1 waits for it, and rank 0 for rank 1.
TEST_CASE("the end of a chain of waits is blamed") {
  LocalRanks ranks(3);
  CHECK(ranks.all_ok([](algo::Local& local, std::size_t) { return barrier(local, "start"); }));
  control(ranks, 1).bell.awaited.store(3);  // as if it slept for rank 2
  const auto outcomes = ranks.on_all([&](algo::Local& local, std::size_t index) {
    return index == 0 ? barrier(local, "chain", 0.2) : Status::ok();
  });
  CHECK(outcomes[0].rank() == 2);
  control(ranks, 1).bell.awaited.store(77);  // nonsense leads nowhere
  control(ranks, 2).bell.awaited.store(2);
}

TEST_CASE("an interrupt ends a wait, also one that sleeps already") {
  LocalRanks ranks(2);
  CHECK(ranks.all_ok([](algo::Local& local, std::size_t) { return barrier(local, "start"); }));
  std::thread breaker([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ranks.interrupt(0).raise();
  });
  const auto outcomes = ranks.on_all([&](algo::Local& local, std::size_t index) {
    return index == 0 ? barrier(local, "lonely") : Status::ok();
  });
  breaker.join();
  CHECK(outcomes[0].code() == Code::kAborted);
  CHECK(contains(outcomes[0].message(), "lonely was interrupted"));
}

TEST_CASE("an interrupt ends a pipeline that waits for a piece") {
  LocalRanks ranks(2);
  CHECK(ranks.all_ok([](algo::Local& local, std::size_t) { return barrier(local, "start"); }));
  std::thread breaker([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ranks.interrupt(0).raise();
  });
  std::vector<std::byte> data(5'000'000);
  const TextAgreement what("broadcast");
  const auto outcomes = ranks.on_all([&](algo::Local& local, std::size_t index) {
    if (index == 1) return barrier(local, "broadcast");  // comes, and takes nothing
    return local.broadcast(MutableBytes(data.data(), data.size()), 0, {what, kLocalPatience});
  });
  breaker.join();
  CHECK(outcomes[0].code() == Code::kAborted);
}

TEST_CASE("a rank that has left ends the wait for it, not that for what it still brought") {
  LocalRanks ranks(3);
  CHECK(ranks.all_ok([](algo::Local& local, std::size_t) { return barrier(local, "start"); }));
  CHECK(ranks.all_ok([&](algo::Local& local, std::size_t index) {
    if (index == 0) {
      while (control(ranks, 2).turns[1].line.sequence.load() < 3) std::this_thread::yield();
      ranks.interrupt(0).mark_left(2);  // known before what it brought is read
    }
    return barrier(local, "last");  // the third meeting: an opening comes before the first
  }));
  std::thread leaver([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ranks.interrupt(1).mark_left(2);
  });
  const auto outcomes = ranks.on_all([&](algo::Local& local, std::size_t index) {
    return index == 2 ? Status::ok() : barrier(local, "lonely");
  });
  leaver.join();
  for (const std::size_t index : {0, 1}) {
    CHECK(outcomes[index].code() == Code::kPeerLost);
    CHECK(outcomes[index].rank() == 2);
    CHECK(contains(outcomes[index].message(), "it closed its communicator while this rank still needs it"));
  }
}

TEST_CASE("a rank that has left also ends the wait for another one that has not come yet") {
  LocalRanks ranks(3);
  CHECK(ranks.all_ok([](algo::Local& local, std::size_t) { return barrier(local, "start"); }));
  const auto outcomes = ranks.on_all([&](algo::Local& local, std::size_t index) {
    if (index == 2) ranks.interrupt(0).mark_left(2);
    return index == 0 ? barrier(local, "lonely") : Status::ok();  // waits for rank 1 first
  });
  CHECK(outcomes[0].code() == Code::kPeerLost);
  CHECK(outcomes[0].rank() == 2);
  CHECK(contains(outcomes[0].message(), "rank 2: it closed its communicator"));
}

TEST_CASE("waits are counted, and nobody sleeps or wakes for what is there") {
  LocalRanks ranks(2);
  CHECK(ranks.all_ok([](algo::Local& local, std::size_t index) -> Status {
    RING_TRY(barrier(local, "start"));
    if (index == 1) std::this_thread::sleep_for(std::chrono::milliseconds(30));
    return barrier(local, "end");
  }));
  CHECK(ranks.local(0).stats().waits.sleeps > 0);
  CHECK(ranks.local(1).stats().waits.wakes > 0);
  CHECK(ranks.meter(0).wait_ns > 10'000'000);
}

}  // namespace
