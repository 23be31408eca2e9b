// SendContribution, ReceiveResults: a range of elements as it travels, rounded on its way out and widened on
// its way in where float32 is compressed; else straight from and to the caller's memory.
// Owner: one call; executing thread only.
#pragma once

#include <cstddef>  // for byte, size_t
#include <cstdint>  // for uint64_t

#include "ring/algo/wire/arithmetic.h"
#include "ring/algo/wire/stream.h"

namespace ring::algo::wire {

struct Range {
  std::uint64_t offset = 0;  // elements
  std::uint64_t count = 0;
};

// Elements of compressed values handled at once.
inline constexpr std::size_t kWindowElements = 32 * 1024;

// The memory that either needs: none where nothing is compressed.
[[nodiscard]] inline std::size_t window_space(const Arithmetic& arithmetic, std::uint64_t count) {
  if (!arithmetic.compresses()) return 0;
  return static_cast<std::size_t>(std::min<std::uint64_t>(count, kWindowElements)) *
         size_of(arithmetic.raw());
}

class SendContribution final : public Outgoing {
 public:
  SendContribution() = default;
  SendContribution(Arithmetic& arithmetic, Range range, std::byte* window)
      : arithmetic_(&arithmetic), range_(range), window_(window), width_(size_of(arithmetic.raw())) {}

  [[nodiscard]] Bytes ready() override {
    if (sent_ == begun_ * width_ && begun_ < range_.count) next();
    return {block_ + (sent_ - block_begin_), static_cast<std::size_t>(begun_ * width_ - sent_)};
  }
  void sent(std::size_t bytes) override { sent_ += bytes; }
  [[nodiscard]] bool done() const override { return sent_ == range_.count * width_; }

 private:
  void next() {
    auto count = range_.count - begun_;
    if (arithmetic_->compresses()) count = std::min<std::uint64_t>(count, kWindowElements);
    block_begin_ = begun_ * width_;
    block_ = arithmetic_->contribution(range_.offset + begun_, static_cast<std::size_t>(count), window_);
    begun_ += count;
  }

  Arithmetic* arithmetic_ = nullptr;
  Range range_;
  std::byte* window_ = nullptr;
  std::size_t width_ = 1;
  const std::byte* block_ = nullptr;
  std::uint64_t block_begin_ = 0;  // bytes
  std::uint64_t begun_ = 0;        // elements whose block is or was at hand
  std::uint64_t sent_ = 0;         // bytes
};

class ReceiveResults final : public Incoming {
 public:
  ReceiveResults() = default;
  // `out`: where the results of the range lie, for what is not compressed.
  ReceiveResults(Arithmetic& arithmetic, Range range, std::byte* out, std::byte* window)
      : arithmetic_(&arithmetic),
        range_(range),
        out_(out),
        window_(arithmetic.compresses() ? window : nullptr),
        width_(size_of(arithmetic.result())) {}

  [[nodiscard]] MutableBytes room() override {
    if (window_ == nullptr) return {out_ + arrived_, static_cast<std::size_t>(left())};
    const std::uint64_t waiting = arrived_ - delivered_ * width_;
    const std::uint64_t most = kWindowElements * width_ - waiting;
    return {window_ + waiting, static_cast<std::size_t>(std::min(most, left()))};
  }
  void received(std::size_t bytes) override {
    arrived_ += bytes;
    if (window_ == nullptr) return;
    const std::uint64_t waiting = arrived_ - delivered_ * width_;
    if (waiting < kWindowElements * width_ && left() > 0) return;  // widened window by window
    const std::uint64_t count = waiting / width_;
    arithmetic_->deliver(window_, range_.offset + delivered_, static_cast<std::size_t>(count));
    delivered_ += count;
  }
  [[nodiscard]] std::uint64_t left() const override { return range_.count * width_ - arrived_; }

 private:
  Arithmetic* arithmetic_ = nullptr;
  Range range_;
  std::byte* out_ = nullptr;
  std::byte* window_ = nullptr;
  std::size_t width_ = 1;
  std::uint64_t arrived_ = 0;    // bytes
  std::uint64_t delivered_ = 0;  // elements
};

}  // namespace ring::algo::wire
