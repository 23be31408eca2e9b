// Interrupt: wakes and stops whoever executes a collective. Owner: the engine. Any thread may call `raise`
// and `nudge`; the rest belongs to the thread that executes.
#pragma once

#include <sys/eventfd.h>  // for eventfd
#include <unistd.h>       // for read, write

#include <atomic>      // for atomic
#include <cstdint>     // for uint64_t
#include <functional>  // for function

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

 private:
  static constexpr double kSliceSeconds = 0.1;  // how soon Ctrl-C is seen

  UniqueFd fd_;
  std::atomic<bool> raised_{false};
  const Check* check_ = nullptr;
  bool cancelled_ = false;
};

}  // namespace ring::backend
