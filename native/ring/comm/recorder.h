// Recorder: what the engine did, for post-mortems, statistics and timelines. Owner: the engine, whose lock
// guards it.
#pragma once

#include <array>    // for array
#include <chrono>   // for steady_clock
#include <cstdint>  // for uint32_t, uint64_t
#include <string>   // for string
#include <vector>   // for vector

#include "ring/backend/backend.h"
#include "ring/base/status.h"
#include "ring/comm/operation.h"

namespace ring::comm {

// Nanoseconds of the monotonic clock, which is Python's time.monotonic_ns.
[[nodiscard]] inline std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

struct Record {
  std::uint64_t sequence = 0;
  std::uint32_t group = 0;
  Kind kind = Kind::kBarrier;
  DType dtype = DType::kUint8;
  Code code = Code::kOk;
  bool is_done = false;
  bool is_inline = false;  // ran in the thread that called
  std::uint64_t bytes = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  backend::Meter spent;
  std::array<char, 56> label{};  // the first bytes of it

  [[nodiscard]] std::string text() const;  // "allreduce #3 'loss' (16 bytes)"
};

// Sums since the start, of what has ended.
struct Counters {
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;
  std::uint64_t total_ns = 0;
  backend::Meter spent;
};

class Recorder {
 public:
  // Returns its start.
  std::chrono::steady_clock::time_point begin(const Operation& operation, bool is_inline);
  void end(Code code, const backend::Meter& spent);

  // The last operations, oldest first; one that is running is the last.
  [[nodiscard]] std::vector<Record> recent() const;
  [[nodiscard]] const std::array<Counters, kNumKinds>& counters() const noexcept { return counters_; }
  [[nodiscard]] bool is_running() const noexcept {
    return started_ > 0 && !ring_[(started_ - 1) % kKept].is_done;
  }
  // Empty before the first operation.
  [[nodiscard]] std::string last() const;

  // From now on keeps up to `capacity` ended operations beside the last ones, until they are taken.
  void trace(std::size_t capacity);
  [[nodiscard]] std::vector<Record> take_trace();

 private:
  static constexpr std::size_t kKept = 256;

  [[nodiscard]] Record& current() { return ring_[(started_ - 1) % kKept]; }

  std::array<Record, kKept> ring_{};
  std::uint64_t started_ = 0;
  std::array<Counters, kNumKinds> counters_{};
  std::size_t trace_capacity_ = 0;
  std::vector<Record> trace_;
};

}  // namespace ring::comm
