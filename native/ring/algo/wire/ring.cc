#include "ring/algo/wire/ring.h"

#include <algorithm>  // for max, min
#include <cstring>    // for memmove

namespace ring::algo::wire {
namespace {

constexpr std::size_t kWindowBytes = 256 * 1024;
constexpr std::uint64_t kSlack = 64 * 1024;  // elements that the circle holds beyond the largest part

}  // namespace

void Circle::use(std::byte* memory, std::uint64_t capacity, std::size_t width) {
  memory_ = memory;
  capacity_ = capacity * width;
  put_ = taken_ = 0;
}

MutableBytes Circle::room() const {
  if (capacity_ == 0) return {};
  const std::uint64_t at = put_ % capacity_;
  const std::uint64_t room = std::min(capacity_ - (put_ - taken_), capacity_ - at);
  return {memory_ + at, static_cast<std::size_t>(room)};
}

Bytes Circle::held(std::uint64_t from) const {
  if (from == put_) return {};
  const std::uint64_t at = from % capacity_;
  return {memory_ + at, static_cast<std::size_t>(std::min(put_ - from, capacity_ - at))};
}

Ring::Ring(Arithmetic& arithmetic, const plan::Parts& parts, int index, Phases phases)
    : arithmetic_(arithmetic),
      parts_(parts),
      index_(index),
      size_(static_cast<int>(parts.size())),
      num_scatter_(phases == Phases::kGather ? 0 : size_ - 1),
      num_steps_(num_scatter_ + (phases == Phases::kScatter ? 0 : size_ - 1)) {
  for (int step = 0; step < num_steps_; ++step) incoming_ += in_part(step).count * width_of(step);
}

void Ring::use(Scratch& scratch) {
  const bool scatter = num_scatter_ > 0;
  const std::uint64_t largest = plan::largest(parts_);
  const bool circle = keeps_results() || num_scatter_ > 1;
  const std::uint64_t capacity = circle ? largest + std::min(largest, kSlack) + 1 : 0;
  const std::size_t width = keeps_results() ? size_of(arithmetic_.result()) : size_of(arithmetic_.partial());
  const std::size_t rounded = keeps_results() ? kWindowBytes : 0;
  const auto own = parts_[static_cast<std::size_t>(index_)];
  const std::size_t results = keeps_results() ? own.count * size_of(arithmetic_.result()) : 0;
  const std::size_t window = scatter ? kWindowBytes : 0;
  const auto circle_bytes = static_cast<std::size_t>((capacity * width + 63) / 64 * 64);
  std::byte* memory = scratch.at_least(circle_bytes + window + 2 * rounded + results);
  circle_.use(memory, capacity, width);
  window_ = memory + circle_bytes;
  space_ = window_ + window;
  results_ = keeps_results() ? space_ + 2 * rounded : nullptr;
  const auto& first = out_part(0);
  first_ = SendContribution(arithmetic_, {first.offset, first.count}, space_ + rounded);
  skip_empty();
}

const plan::Part& Ring::part_at(int distance) const {
  return parts_[static_cast<std::size_t>((index_ - distance + 2 * size_) % size_)];
}

const plan::Part& Ring::out_part(int step) const {
  return scatters(step) ? part_at(1 + step) : part_at(step - num_scatter_);
}

const plan::Part& Ring::in_part(int step) const {
  return scatters(step) ? part_at(2 + step) : part_at(step - num_scatter_ + 1);
}

std::size_t Ring::width_of(int step) const {
  if (!scatters(step)) return size_of(arithmetic_.result());
  return size_of(step == 0 ? arithmetic_.raw() : arithmetic_.partial());
}

void Ring::skip_empty() {
  while (in_step_ < num_steps_ && in_part(in_step_).count == 0) ++in_step_;
  while (out_step_ < num_steps_ && out_part(out_step_).count == 0) ++out_step_;
}

void Ring::next_in_step() {
  ++in_step_;
  in_bytes_ = in_folded_ = 0;
  window_begin_ = window_end_ = 0;
  skip_empty();
}

void Ring::next_out_step() {
  ++out_step_;
  out_bytes_ = 0;
  skip_empty();
}

// Bytes of the own part's results that are there.
std::uint64_t Ring::own_results() const {
  const auto& own = parts_[static_cast<std::size_t>(index_)];
  const int last = num_scatter_ - 1;
  const auto elements = in_step_ > last ? own.count : in_step_ == last ? in_folded_ : 0;
  return elements * size_of(arithmetic_.result());
}

Bytes Ring::ready() {
  if (done()) return {};
  const auto& part = out_part(out_step_);
  if (scatters(out_step_) && out_step_ == 0) return first_.ready();
  const bool own_results_go = out_step_ == num_scatter_;
  if (scatters(out_step_) || (keeps_results() && !own_results_go)) {
    Bytes held = circle_.held(circle_.taken_bytes());
    held.size = std::min<std::uint64_t>(held.size, part.count * width_of(out_step_) - out_bytes_);
    return held;
  }
  const std::byte* data = own_results_go && keeps_results() ? results_ : arithmetic_.place(part.offset);
  std::uint64_t there = part.count * width_of(out_step_);
  if (own_results_go) {
    there = num_scatter_ > 0 ? own_results() : there;
  } else if (in_step_ < out_step_) {
    there = in_step_ == out_step_ - 1 ? in_bytes_ : 0;
  }
  return {data + out_bytes_, static_cast<std::size_t>(there - out_bytes_)};
}

void Ring::sent(std::size_t bytes) {
  const bool own_results_go = out_step_ == num_scatter_;
  if (scatters(out_step_) && out_step_ == 0) {
    first_.sent(bytes);
  } else if (scatters(out_step_) || (keeps_results() && !own_results_go)) {
    circle_.take(bytes);
  }
  out_bytes_ += bytes;
  if (out_bytes_ == out_part(out_step_).count * width_of(out_step_)) next_out_step();
  fold_window();  // there may be room in the circle now
}

MutableBytes Ring::room() {
  if (left() == 0) return {};
  const auto& part = in_part(in_step_);
  const auto rest = static_cast<std::size_t>(part.count * width_of(in_step_) - in_bytes_);
  if (scatters(in_step_)) return {window_ + window_end_, std::min(rest, kWindowBytes - window_end_)};
  if (!keeps_results()) return {arithmetic_.place(part.offset) + in_bytes_, rest};
  MutableBytes room = circle_.room();
  room.size = std::min(room.size, rest);
  return room;
}

void Ring::received(std::size_t bytes) {
  arrived_ += bytes;
  in_bytes_ += bytes;
  if (scatters(in_step_)) {
    window_end_ += bytes;
    return fold_window();
  }
  if (keeps_results()) {
    circle_.put(bytes);
    deliver_held();
  }
  if (in_bytes_ == in_part(in_step_).count * width_of(in_step_)) next_in_step();
}

// Compressed results that are on their way through the circle -> the caller's memory.
void Ring::deliver_held() {
  const std::size_t width = size_of(arithmetic_.result());
  const auto& part = in_part(in_step_);
  while (true) {
    const std::uint64_t arrived = in_bytes_ / width - delivered_;
    if (arrived == 0) break;
    const std::uint64_t begin = circle_.put_bytes() - in_bytes_ + delivered_ * width;
    const std::uint64_t count = std::min<std::uint64_t>(arrived, circle_.held(begin).size / width);
    arithmetic_.deliver(circle_.held(begin).data, part.offset + delivered_, static_cast<std::size_t>(count));
    delivered_ += count;
  }
  if (delivered_ == part.count) delivered_ = 0;
}

// Folds the whole elements that lie in the window, as far as there is room for the outcome.
void Ring::fold_window() {
  while (in_step_ < num_scatter_) {
    const std::size_t width = width_of(in_step_);
    const std::size_t count = (window_end_ - window_begin_) / width;
    const std::size_t folded = count == 0 ? 0 : fold_some(count);
    if (folded == 0) break;
    window_begin_ += folded * width;
    in_folded_ += folded;
    if (in_folded_ == in_part(in_step_).count) return next_in_step();
  }
  if (window_begin_ == 0 || in_step_ >= num_scatter_) return;
  std::memmove(window_, window_ + window_begin_, window_end_ - window_begin_);
  window_end_ -= window_begin_;
  window_begin_ = 0;
}

// Returns how many of `count` were folded.
std::size_t Ring::fold_some(std::size_t count) {
  const std::uint64_t offset = in_part(in_step_).offset + in_folded_;
  std::byte* arrived = window_ + window_begin_;
  if (in_step_ == num_scatter_ - 1) {
    finish_block(arrived, {offset, count});
    return count;
  }
  const std::size_t width = size_of(arithmetic_.partial());
  const MutableBytes room = circle_.room();
  const std::size_t fitting = std::min(count, room.size / width);
  if (fitting == 0) return 0;
  fold_block(arrived, {offset, fitting}, room.data);
  circle_.put(fitting * width);
  return fitting;
}

void Ring::fold_block(const std::byte* arrived, const plan::Part& block, std::byte* out) {
  const auto count = static_cast<std::size_t>(block.count);
  const std::byte* own = arithmetic_.contribution(block.offset, count, space_);
  if (in_step_ == 0) {
    arithmetic_.fold_first(arrived, own, block.offset, out, count);
  } else {
    arithmetic_.fold(arrived, own, block.offset, out, count);
  }
}

// The last step: the own part, with what all others brought.
void Ring::finish_block(std::byte* arrived, const plan::Part& block) {
  const auto count = static_cast<std::size_t>(block.count);
  const std::uint64_t own_offset = parts_[static_cast<std::size_t>(index_)].offset;
  std::byte* out = keeps_results() ? results_ + (block.offset - own_offset) * size_of(arithmetic_.result())
                                   : arithmetic_.place(block.offset);
  const std::byte* own = arithmetic_.contribution(block.offset, count, space_);
  if (arithmetic_.partial() == arithmetic_.result()) {
    arithmetic_.fold(arrived, own, block.offset, out, count);
    arithmetic_.finish(out, block.offset, out, count);
  } else {
    arithmetic_.fold(arrived, own, block.offset, arrived, count);
    arithmetic_.finish(arrived, block.offset, out, count);
  }
  arithmetic_.deliver(out, block.offset, count);
}

}  // namespace ring::algo::wire
