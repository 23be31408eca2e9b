// Interrupt: wakes and stops a progress thread from outside. Owner: the engine. Any thread may call it.
#pragma once

#include <sys/eventfd.h>  // for eventfd
#include <unistd.h>       // for read, write

#include <atomic>   // for atomic
#include <cstdint>  // for uint64_t

#include "ring/base/unique_fd.h"

namespace ring::backend {

class Interrupt {
 public:
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

 private:
  UniqueFd fd_;
  std::atomic<bool> raised_{false};
};

}  // namespace ring::backend
