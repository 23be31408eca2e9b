// Deadline: a point in time that every call which can block is given.
#pragma once

#include <algorithm>  // for clamp, min
#include <chrono>     // for steady_clock

namespace ring {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  static Deadline after(double seconds, Clock::time_point start = Clock::now()) {
    const auto bounded = std::clamp(seconds, 0.0, 1e8);  // keeps the sum inside the clock's range
    return Deadline(start +
                    std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(bounded)));
  }

  // One that has passed, without a look at the clock.
  static constexpr Deadline long_ago() { return Deadline(Clock::time_point::min()); }

  [[nodiscard]] bool passed() const { return Clock::now() >= when_; }

  // The earlier of this one and `seconds` from now.
  [[nodiscard]] Deadline but_within(double seconds) const {
    return Deadline(std::min(when_, after(seconds).when_));
  }

  // Milliseconds left for poll(2), rounded up, never negative, at most `most`.
  [[nodiscard]] int poll_ms(int most = 1000) const {
    const auto left = std::chrono::duration_cast<std::chrono::microseconds>(when_ - Clock::now()).count();
    if (left <= 0) return 0;
    return static_cast<int>(std::min<long long>((left + 999) / 1000, most));
  }

 private:
  constexpr explicit Deadline(Clock::time_point when) : when_(when) {}
  Clock::time_point when_;
};

}  // namespace ring
