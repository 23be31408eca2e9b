// Watchers over lifelines alone: who dies, leaves or gives up is known to all ranks, by whatever way.
#include <doctest/doctest.h>
#include <sys/socket.h>  // for socketpair

#include <chrono>  // for steady_clock
#include <memory>  // for make_unique
#include <string>  // for string
#include <thread>  // for thread
#include <vector>  // for vector

#include "ring/base/deadline.h"
#include "ring/plan/topology.h"
#include "ring/transport/watcher.h"

namespace {

using namespace ring;
using namespace ring::transport;
using Clock = std::chrono::steady_clock;

constexpr double kPatience = 60;

std::size_t at(int rank) {
  return static_cast<std::size_t>(rank);
}

// How ranks are connected: as plan::neighbours says, or each to the next.
enum class Shape { kNeighbours, kLine };

class Ranks {
 public:
  explicit Ranks(int size, Shape shape = Shape::kNeighbours) : lines_(at(size)), interrupts_(at(size)) {
    for (int rank = 0; rank < size; ++rank) {
      hosts_.push_back("host" + std::to_string(rank));
      lines_[at(rank)].resize(at(size));
    }
    for (int high = 1; high < size; ++high) {
      for (const int low :
           shape == Shape::kLine ? std::vector<int>{high - 1} : plan::neighbours(high, size)) {
        if (low < high) connect(low, high);
      }
    }
    watchers_.resize(at(size));
  }

  // All ranks but the last `silent` ones, which hold their lifelines and never look at them.
  Ranks& watch(int silent = 0) {
    for (int rank = 0; rank + silent < static_cast<int>(watchers_.size()); ++rank) {
      auto watcher = Watcher::start(std::move(lines_[at(rank)]), rank, hosts_, interrupts_[at(rank)]);
      REQUIRE(watcher);
      watchers_[at(rank)] = std::move(watcher).value();
    }
    return *this;
  }

  // What the kernel does to the descriptors of a killed process.
  void kill(int silent) { lines_[at(silent)].clear(); }

  Watcher& operator[](int rank) { return *watchers_[at(rank)]; }
  backend::Interrupt& interrupt(int rank) { return interrupts_[at(rank)]; }

  // The failure of a rank, when it has come.
  Status failure(int rank) {
    const auto give_up = Deadline::after(kPatience);
    while (watchers_[at(rank)]->failure().is_ok() && !give_up.passed()) std::this_thread::yield();
    CHECK(interrupts_[at(rank)].raised());
    return watchers_[at(rank)]->failure();
  }

  bool has_left(int rank, int seen_by) {
    const auto give_up = Deadline::after(kPatience);
    while (!interrupts_[at(seen_by)].has_left(rank) && !give_up.passed()) std::this_thread::yield();
    return interrupts_[at(seen_by)].has_left(rank);
  }

 private:
  void connect(int low, int high) {
    int ends[2] = {-1, -1};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
    lines_[at(low)][at(high)] = std::make_unique<Lifeline>(UniqueFd(ends[0]), high, hosts_[at(high)]);
    lines_[at(high)][at(low)] = std::make_unique<Lifeline>(UniqueFd(ends[1]), low, hosts_[at(low)]);
  }

  std::vector<std::string> hosts_;
  std::vector<Watcher::Lifelines> lines_;
  std::vector<backend::Interrupt> interrupts_;
  std::vector<std::unique_ptr<Watcher>> watchers_;
};

Status timeout_of(int rank, const std::string& text = "waited") {
  return {Code::kCollectiveTimeout, text + " for rank " + std::to_string(rank), rank,
          "host" + std::to_string(rank)};
}

TEST_CASE("an abort is every rank's failure, also of those that are not connected to it") {
  for (const int size : {2, 3, 8, 9, 20}) {
    Ranks ranks(size);
    ranks.watch();
    const Status cause(Code::kAborted, "rank 1 aborted: ValueError: bad row", 1, "host1");
    CHECK(ranks[1].abort(cause).message() == cause.message());
    for (int rank = 0; rank < size; ++rank) {
      const Status failure = ranks.failure(rank);
      CHECK(failure.code() == Code::kAborted);
      CHECK(failure.message() == cause.message());
      CHECK(failure.rank() == 1);
      CHECK(failure.host() == "host1");
    }
  }
}

TEST_CASE("the first cause stays") {
  Ranks ranks(3);
  ranks.watch();
  (void)ranks[1].abort({Code::kAborted, "first", 1});
  CHECK(ranks.failure(0).message() == "first");
  CHECK(ranks.failure(2).message() == "first");
  CHECK(ranks[0].abort({Code::kPeerLost, "later", 2}).message() == "first");
  CHECK(ranks[0].give_up({Code::kAborted, "interrupted", 0}, -1).message() == "first");
  CHECK(ranks[2].failure().message() == "first");
}

TEST_CASE("a death is known to all, by name, through whoever is left") {
  for (const int size : {2, 4, 12}) {
    Ranks ranks(size);
    ranks.watch(1);
    const auto start = Clock::now();
    ranks.kill(size - 1);
    for (int rank = 0; rank < size - 1; ++rank) {
      CHECK(ranks.failure(rank).code() == Code::kPeerLost);
      CHECK(ranks.failure(rank).rank() == size - 1);
      CHECK(ranks.failure(rank).host() == "host" + std::to_string(size - 1));
    }
    CHECK(Clock::now() - start < std::chrono::seconds(5));
  }
}

TEST_CASE("leaving in order is no failure and is known to all") {
  Ranks ranks(12);
  ranks.watch();
  ranks[3].close();
  ranks[3].close();
  for (int rank = 0; rank < 12; ++rank) {
    if (rank == 3) continue;
    CHECK(ranks.has_left(3, rank));
    CHECK(ranks[rank].failure().is_ok());
    CHECK_FALSE(ranks.interrupt(rank).raised());
    CHECK_FALSE(ranks.interrupt(rank).has_left(4));
  }
}

TEST_CASE("a rank that stopped is named by all, along a chain of ranks that waited for each other") {
  Ranks ranks(5);
  ranks.watch(1);  // 0 waits for 1, 1 for 2, 2 for 3, 3 for 4, which is stopped
  std::vector<Status> named(4);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 4; ++rank) {
    threads.emplace_back(
        [&, rank] { named[at(rank)] = ranks[rank].give_up(timeout_of(rank + 1), rank + 1); });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& cause : named) CHECK(cause.rank() == 4);
}

TEST_CASE("who is interrupted by a time-out says whom it waited for") {
  Ranks ranks(4, Shape::kLine);
  ranks.watch();
  std::vector<Status> named(4);
  std::vector<std::thread> threads;
  threads.emplace_back([&] { named[0] = ranks[0].give_up(timeout_of(1), 1); });
  for (int rank = 1; rank < 4; ++rank) {
    threads.emplace_back([&, rank] {
      (void)ranks.failure(rank);
      named[at(rank)] = ranks[rank].give_up({Code::kAborted, "interrupted", rank}, rank == 3 ? -1 : rank + 1);
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(named[0].rank() == 3);
  CHECK(named[3].rank() == 3);
}

TEST_CASE("a rank that is blamed and waits for nobody takes the blame at once") {
  Ranks ranks(2);
  ranks.watch();
  Status named;
  std::thread first([&] { named = ranks[0].give_up(timeout_of(1), 1); });
  CHECK(ranks.failure(1).rank() == 1);
  CHECK(ranks[1].give_up({Code::kAborted, "interrupted", 1}, -1).rank() == 1);
  first.join();
  CHECK(named.rank() == 1);
}

TEST_CASE("an abort from any thread does not answer for the thread that executes") {
  Ranks ranks(3, Shape::kLine);
  ranks.watch();
  Status named;
  std::thread first([&] { named = ranks[0].give_up(timeout_of(1), 1); });
  CHECK(ranks.failure(1).rank() == 1);
  CHECK(ranks[1].abort({Code::kAborted, "somebody presses Ctrl-C", 1}).rank() == 1);
  (void)ranks[1].give_up({Code::kAborted, "interrupted", 1}, 2);  // it waited for rank 2
  first.join();
  CHECK(named.rank() == 2);
}

TEST_CASE("who is missing at a meeting is passed on whole") {
  Ranks ranks(3, Shape::kLine);
  ranks.watch();
  const Status cause = Status(Code::kRendezvousTimeout, "still waits", 7).with_missing({7, 9});
  (void)ranks[0].abort(cause);
  CHECK(ranks.failure(2).missing() == std::vector<int>{7, 9});
}

TEST_CASE("aborts and closes from many threads") {
  for (int round = 0; round < 50; ++round) {
    Ranks ranks(3);
    ranks.watch();
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; ++i) {
      threads.emplace_back([&, i] {
        (void)ranks[i % 3].abort({Code::kAborted, "by " + std::to_string(i), i % 3});
        if (i >= 3) ranks[i % 3].close();
      });
    }
    for (auto& thread : threads) thread.join();
  }
}

TEST_CASE("a rank alone fails by itself and needs no thread") {
  Ranks ranks(1);
  ranks.watch();
  CHECK(ranks[0].give_up(timeout_of(0), -1).rank() == 0);
  CHECK(ranks.failure(0).code() == Code::kCollectiveTimeout);
}

TEST_CASE("many long words to a rank that does not read block nobody") {
  int ends[2] = {-1, -1};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
  const UniqueFd deaf(ends[0]);
  Lifeline lifeline(UniqueFd(ends[1]), 1, "host1");
  const auto start = Clock::now();
  for (int i = 0; i < 2000; ++i) lifeline.send(encode_abort(i, {Code::kAborted, std::string(4000, 'x'), 1}));
  CHECK(lifeline.check().is_ok());
  lifeline.close();
  CHECK(Clock::now() - start < std::chrono::seconds(5));
}

}  // namespace
