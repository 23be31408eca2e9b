#include "ring/shm/waiter.h"

#include <sched.h>  // for sched_yield

#include <algorithm>  // for min
#include <chrono>     // for nanoseconds
#include <utility>    // for move

#include "ring/shm/futex.h"

namespace ring::shm {
namespace {

// Before the first pause and the first look at the clock, which both cost more than what is about to come.
constexpr int kEagerReads = 256;
constexpr int kReadsPerLook = 16;
constexpr std::int64_t kYieldNs = 20'000;
// A yield that took longer gave the core to somebody who is not about to give it back: under foreign load a
// sleeper that is woken runs sooner than one that yields.
constexpr std::int64_t kSlowYieldNs = 1'000'000;
constexpr int kLongestSleepMs = 1000;

inline void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

Waiter::Waiter(const LocalGroup& group, std::vector<int> ranks, backend::Interrupt& interrupt)
    : group_(group),
      ranks_(std::move(ranks)),
      interrupt_(interrupt),
      awaited_as_(static_cast<std::uint32_t>(group.index()) + 1) {
  for (int member = 0; member < group.size(); ++member) {
    if (member != group.index()) others_.push_back(&group.bell(member));
  }
  if (!others_.empty()) interrupt_.add_doorbell(&group.bell(group.index()).word);
}

Waiter::~Waiter() {
  if (!others_.empty()) interrupt_.remove_doorbell(&group_.bell(group_.index()).word);
}

Wake Waiter::wait(int member, const std::atomic<std::uint64_t>& word, std::uint64_t target,
                  const Deadline& deadline) {
  for (int i = 0; i < kEagerReads; ++i) {
    if (word.load(std::memory_order_acquire) >= target) return Wake::kReady;
  }
  ++counts_.waits;
  const auto start = Clock::now();
  const auto elapsed = [start] {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
  };
  Wake result = Wake::kReady;
  std::int64_t budget = how_ == Spin::kNever ? 0 : budget_.next();
  if (how_ == Spin::kYield) budget = std::min(budget, kYieldNs);
  const bool came = spin_for(budget, word, target);
  if (budget > 0) judge(came, elapsed());
  if (!came) result = sleep(member, word, target, deadline);
  counts_.wait_ns += static_cast<std::uint64_t>(elapsed());
  return result;
}

void Waiter::judge(bool came, std::int64_t took_ns) noexcept {
  if (how_ == Spin::kYield) {
    if (took_ns > kSlowYieldNs) {
      budget_.missed();
    } else if (came) {
      budget_.rewarded(took_ns);
    }
  } else if (came) {
    budget_.rewarded(took_ns);
  } else {
    budget_.missed();
  }
}

bool Waiter::spin_for(std::int64_t budget_ns, const std::atomic<std::uint64_t>& word, std::uint64_t target) {
  if (budget_ns <= 0) return false;
  const auto end = Clock::now() + std::chrono::nanoseconds(budget_ns);
  do {
    if (how_ == Spin::kYield) {
      ::sched_yield();
      if (word.load(std::memory_order_acquire) >= target) return true;
      continue;
    }
    for (int i = 0; i < kReadsPerLook; ++i) {
      if (word.load(std::memory_order_acquire) >= target) return true;
      pause();
    }
  } while (Clock::now() < end && !interrupt_.raised());
  return false;
}

Wake Waiter::sleep(int member, const std::atomic<std::uint64_t>& word, std::uint64_t target,
                   const Deadline& deadline) {
  Bell& bell = group_.bell(group_.index());
  while (true) {
    const std::uint32_t rung = bell.word.load(std::memory_order_acquire);
    bell.awaited.store(static_cast<std::uint32_t>(member) + 1, std::memory_order_seq_cst);
    if (word.load(std::memory_order_seq_cst) >= target) {
      bell.awaited.store(0, std::memory_order_relaxed);
      return Wake::kReady;
    }
    // From here on `awaited` stays: peers follow it to who is to blame.
    const Deadline next_look = interrupt_.next_wake(deadline);
    if (interrupt_.raised()) return Wake::kInterrupted;
    gone_ = first_gone(member);
    if (gone_ >= 0) {
      return word.load(std::memory_order_acquire) >= target ? Wake::kReady
                                                            : Wake::kLeft;  // its last word counts
    }
    if (deadline.passed()) return Wake::kTimedOut;
    ++counts_.sleeps;
    futex_wait(bell.word, rung, next_look.poll_ms(kLongestSleepMs));
  }
}

// The awaited member when it has left, else one that never came to the expected meeting; -1 for none.
int Waiter::first_gone(int member) const {
  const auto left = [this](int one) { return interrupt_.has_left(ranks_[static_cast<std::size_t>(one)]); };
  if (left(member)) return member;
  for (int other = 0; other < group_.size(); ++other) {
    if (other == group_.index() || !left(other)) continue;
    if (group_.line(other, expected_).sequence.load(std::memory_order_acquire) < expected_) return other;
  }
  return -1;
}

void Waiter::wake(Bell& bell) noexcept {
  std::uint32_t expected = awaited_as_;
  if (!bell.awaited.compare_exchange_strong(expected, 0)) return;  // so that one wake-up costs one call
  bell.word.fetch_add(1);
  ++counts_.wakes;
  futex_wake_all(bell.word);
}

int Waiter::laggard(int member) const noexcept {
  for (int steps = 0; steps < group_.size(); ++steps) {
    const std::uint32_t awaited = group_.bell(member).awaited.load(std::memory_order_acquire);
    const int next = static_cast<int>(awaited) - 1;
    if (awaited == 0 || next >= group_.size() || next == group_.index() || next == member) return member;
    member = next;
  }
  return member;
}

}  // namespace ring::shm
