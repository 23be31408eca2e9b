// SpinBudget: how long a wait may spin before it sleeps. Adapts: long where spinning pays, none where the
// awaited rank has no core. Plain value, no thread safety.
//
// A budget is four times the average of the spins that were rewarded, between 30 us and 1 ms. After two
// misses in a row the next waits sleep at once: 32 of them, then one probe, and with every further miss twice
// as many up to 4096; with every reward half as many.
#pragma once

#include <algorithm>  // for clamp, max, min
#include <cstdint>    // for int64_t, uint32_t

namespace ring::shm {

class SpinBudget {
 public:
  // Nanoseconds that the next wait may spin; 0: sleep at once.
  [[nodiscard]] std::int64_t next() noexcept {
    if (skip_ > 0) {
      --skip_;
      return 0;
    }
    return std::clamp(4 * average_ns_, kLeast, kMost);
  }
  void rewarded(std::int64_t spun_ns) noexcept {
    average_ns_ += (spun_ns - average_ns_) / 8;
    misses_ = 0;
    hold_ = std::max(hold_ / 2, kFirstHold);
  }
  void missed() noexcept {
    if (++misses_ < 2) return;
    skip_ = hold_;
    hold_ = std::min(2 * hold_, kLongestHold);
  }

 private:
  static constexpr std::int64_t kLeast = 30'000;
  static constexpr std::int64_t kMost = 1'000'000;
  static constexpr std::uint32_t kFirstHold = 32;
  static constexpr std::uint32_t kLongestHold = 4096;

  std::int64_t average_ns_ = 0;
  std::uint32_t misses_ = 0;
  std::uint32_t hold_ = kFirstHold;
  std::uint32_t skip_ = 0;
};

}  // namespace ring::shm
