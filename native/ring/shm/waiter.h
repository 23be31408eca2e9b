// Waiter: how a member waits for a word of another one, and wakes those that wait for its own. Spins while
// that pays, yields where there are more members than cores, then sleeps on a futex; no system call while
// both run. Owner: the group's collectives; one thread.
#pragma once

#include <atomic>   // for atomic
#include <cstdint>  // for int64_t, uint64_t
#include <vector>   // for vector

#include "ring/backend/interrupt.h"
#include "ring/base/deadline.h"
#include "ring/shm/group.h"
#include "ring/shm/spin_budget.h"

namespace ring::shm {

enum class Wake { kReady, kTimedOut, kInterrupted, kLeft };

// How a wait begins: kNever where only sleeping is wanted (tests).
enum class Spin { kAdaptive, kYield, kNever };

struct WaitCounts {
  std::uint64_t waits = 0;   // the word was not there yet
  std::uint64_t sleeps = 0;  // futex calls to wait
  std::uint64_t wakes = 0;   // futex calls to wake
  std::uint64_t wait_ns = 0;
};

class Waiter {
 public:
  // Group and interrupt must outlive the waiter. `ranks`: by member, as the interrupt knows them.
  Waiter(const LocalGroup& group, std::vector<int> ranks, backend::Interrupt& interrupt);

  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  ~Waiter();

  void spin(Spin how) noexcept { how_ = how; }

  // Until `word`, which `member` alone writes, is at least `target`.
  [[nodiscard]] Wake until(int member, const std::atomic<std::uint64_t>& word, std::uint64_t target,
                           const Deadline& deadline) {
    if (word.load(std::memory_order_acquire) >= target) return Wake::kReady;
    return wait(member, word, target, deadline);
  }

  // All members are needed at meeting `number`: one that leaves without coming to it ends every wait.
  void expect(std::uint64_t number) noexcept { expected_ = number; }
  // The member that kLeft means.
  [[nodiscard]] int gone() const noexcept { return gone_; }

  // Sets a word of this member and wakes who sleeps for it.
  void advance(std::atomic<std::uint64_t>& word, std::uint64_t value) noexcept {
    word.store(value, std::memory_order_seq_cst);  // before `awaited` is read: no wake-up is lost
    for (auto* bell : others_) {
      if (bell->awaited.load(std::memory_order_seq_cst) == awaited_as_) wake(*bell);
    }
  }

  // Who is behind when `member` is waited for in vain: the one at the end of the chain of waits.
  [[nodiscard]] int laggard(int member) const noexcept;

  [[nodiscard]] const WaitCounts& counts() const noexcept { return counts_; }

 private:
  using Clock = Deadline::Clock;

  [[nodiscard]] Wake wait(int member, const std::atomic<std::uint64_t>& word, std::uint64_t target,
                          const Deadline& deadline);
  // What a try of `took_ns` teaches the budget. `came`: the word was there in time.
  void judge(bool came, std::int64_t took_ns) noexcept;
  [[nodiscard]] bool spin_for(std::int64_t budget_ns, const std::atomic<std::uint64_t>& word,
                              std::uint64_t target);
  [[nodiscard]] Wake sleep(int member, const std::atomic<std::uint64_t>& word, std::uint64_t target,
                           const Deadline& deadline);
  [[nodiscard]] int first_gone(int member) const;
  void wake(Bell& bell) noexcept;

  const LocalGroup& group_;
  std::vector<int> ranks_;
  backend::Interrupt& interrupt_;
  std::vector<Bell*> others_;
  std::uint32_t awaited_as_;
  std::uint64_t expected_ = 0;
  int gone_ = -1;
  Spin how_ = Spin::kAdaptive;
  SpinBudget budget_;
  WaitCounts counts_;
};

}  // namespace ring::shm
