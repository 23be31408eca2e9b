// Interrupt: wakes and stops whoever executes a collective. Owner: the engine. Any thread may call `raise`,
// `nudge` and what has to do with peers that left; the rest belongs to the thread that executes.
#pragma once

#include <linux/futex.h>  // for FUTEX_WAKE
#include <sys/eventfd.h>  // for eventfd
#include <sys/syscall.h>  // for SYS_futex
#include <unistd.h>       // for read, syscall, write

#include <algorithm>   // for find, remove
#include <atomic>      // for atomic
#include <climits>     // for INT_MAX
#include <cstdint>     // for uint64_t
#include <functional>  // for function
#include <mutex>       // for mutex
#include <vector>      // for vector

#include "ring/base/deadline.h"
#include "ring/base/unique_fd.h"

namespace ring::backend {

class Interrupt {
 public:
  // True to give up: on Ctrl-C, say. Asked by the executing thread while it waits.
  using Check = std::function<bool()>;

  Interrupt() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  [[nodiscard]] bool valid() const noexcept { return fd_.valid(); }
  // Readable after `nudge` or `raise`, until drained.
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  // True from `raise` on: what runs must end.
  [[nodiscard]] bool raised() const noexcept { return raised_.load(std::memory_order_acquire); }

  void raise() noexcept {
    raised_.store(true, std::memory_order_release);
    nudge();
  }
  void nudge() noexcept {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(fd_.get(), &one, sizeof one);  // full means awake already
    const std::lock_guard lock(mutex_);
    for (auto* bell : doorbells_) {
      bell->fetch_add(1);
      ::syscall(SYS_futex, bell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);  // not private: shared memory
    }
  }
  void drain() noexcept {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto got = ::read(fd_.get(), &count, sizeof count);
  }

  // Who executes on behalf of a blocked caller lets it be asked; null: nobody.
  void set_check(const Check* check) noexcept { check_ = check; }
  // Call before every sleep and sleep no longer than what it returns; then look at `raised` and at
  // `deadline`.
  [[nodiscard]] Deadline next_wake(Deadline deadline) {
    if (check_ == nullptr) return deadline;
    if (!raised() && (*check_)()) {
      cancelled_ = true;
      raise();
    }
    return deadline.but_within(kSliceSeconds);
  }
  // Whether the caller's check ended it.
  [[nodiscard]] bool cancelled() const noexcept { return cancelled_; }

  // A peer left in order. No failure until somebody still needs it, hence only a wake-up. Any thread.
  void mark_left(int rank) {
    {
      const std::lock_guard lock(mutex_);
      left_.push_back(rank);
      any_left_.store(true, std::memory_order_release);
    }
    nudge();
  }
  [[nodiscard]] bool has_left(int rank) const {
    if (!any_left_.load(std::memory_order_acquire)) return false;
    const std::lock_guard lock(mutex_);
    return std::find(left_.begin(), left_.end(), rank) != left_.end();
  }

  // A futex word that `nudge` counts up and wakes, beside fd(). It must stay until it is removed.
  void add_doorbell(std::atomic<std::uint32_t>* word) {
    const std::lock_guard lock(mutex_);
    doorbells_.push_back(word);
  }
  void remove_doorbell(std::atomic<std::uint32_t>* word) {
    const std::lock_guard lock(mutex_);
    doorbells_.erase(std::remove(doorbells_.begin(), doorbells_.end(), word), doorbells_.end());
  }

 private:
  static constexpr double kSliceSeconds = 0.1;  // how soon Ctrl-C is seen

  UniqueFd fd_;
  std::atomic<bool> raised_{false};
  const Check* check_ = nullptr;
  bool cancelled_ = false;

  std::atomic<bool> any_left_{false};
  mutable std::mutex mutex_;  // for the lists
  std::vector<int> left_;
  std::vector<std::atomic<std::uint32_t>*> doorbells_;
};

}  // namespace ring::backend
