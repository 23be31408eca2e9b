// Stopwatch: adds the nanoseconds of its life to a counter.
#pragma once

#include <chrono>   // for steady_clock
#include <cstdint>  // for uint64_t

namespace ring::algo::local {

class Stopwatch {
 public:
  explicit Stopwatch(std::uint64_t& total) : total_(total), start_(Clock::now()) {}
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch() {
    const auto spent = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start_);
    total_ += static_cast<std::uint64_t>(spent.count());
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::uint64_t& total_;
  Clock::time_point start_;
};

}  // namespace ring::algo::local
