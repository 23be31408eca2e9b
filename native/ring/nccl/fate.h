// Fate: the first failure of a device communicator, shared by its works, its watcher and its callers. Any
// thread.
#pragma once

#include <atomic>              // for atomic
#include <chrono>              // for duration
#include <condition_variable>  // for condition_variable
#include <mutex>               // for mutex

#include "ring/base/status.h"

namespace ring::nccl {

class Fate {
 public:
  // The first cause stays.
  void seal(const Status& cause) {
    const std::lock_guard lock(mutex_);
    if (!failure_) return;
    failure_ = cause;
    sealed_.store(true, std::memory_order_release);
    changed_.notify_all();
  }
  [[nodiscard]] bool is_sealed() const noexcept { return sealed_.load(std::memory_order_acquire); }
  // Ok while alive.
  [[nodiscard]] Status failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
  }
  // Waits at most `seconds` for a failure; ok when there is none by then.
  [[nodiscard]] Status failure_within(double seconds) const {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return !failure_; });
    return failure_;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::atomic<bool> sealed_{false};
  Status failure_;
};

}  // namespace ring::nccl
