// Ring: one continuous stream from the previous member and one to the next. What has come is folded and sent
// on at once; nothing waits for the end of a step. Owner: one call; executing thread only.
//
// A reduction first passes partial results round (n - 1 steps, after which each member holds its own part),
// then the results (n - 1 steps more). What step s sends is what step s - 1 received, so the only gate is how
// far that has come. Folded partials wait in a circular buffer one part and a bit long: were it shorter, all
// members could be full at once and wait for each other. Results go straight to their place, where each byte
// arrives only after this member's own value of it was used by everybody.
#pragma once

#include <cstddef>  // for byte, size_t
#include <cstdint>  // for uint64_t

#include "ring/algo/wire/arithmetic.h"
#include "ring/algo/wire/scratch.h"
#include "ring/algo/wire/stream.h"
#include "ring/algo/wire/values.h"
#include "ring/plan/parts.h"

namespace ring::algo::wire {

// Elements on their way from the incoming to the outgoing stream.
class Circle {
 public:
  void use(std::byte* memory, std::uint64_t capacity, std::size_t width);
  // The next free place and how many bytes fit there in one piece.
  [[nodiscard]] MutableBytes room() const;
  void put(std::uint64_t bytes) noexcept { put_ += bytes; }
  // What was put and not taken, as far as it lies in one piece, from byte `from` of all that was put.
  [[nodiscard]] Bytes held(std::uint64_t from) const;
  [[nodiscard]] std::uint64_t put_bytes() const noexcept { return put_; }
  [[nodiscard]] std::uint64_t taken_bytes() const noexcept { return taken_; }
  void take(std::uint64_t bytes) noexcept { taken_ += bytes; }

 private:
  std::byte* memory_ = nullptr;
  std::uint64_t capacity_ = 0;  // bytes, as are the others
  std::uint64_t put_ = 0;
  std::uint64_t taken_ = 0;
};

enum class Phases { kScatter, kGather, kBoth };

class Ring final : public Outgoing, public Incoming {
 public:
  // `parts` by member, in elements; must outlive the ring. Scattering takes at least three members.
  Ring(Arithmetic& arithmetic, const plan::Parts& parts, int index, Phases phases);
  // Sets up what the steps need; call once, before the pump runs.
  void use(Scratch& scratch);

  [[nodiscard]] Bytes ready() override;
  void sent(std::size_t bytes) override;
  [[nodiscard]] bool done() const override { return out_step_ == num_steps_; }
  [[nodiscard]] MutableBytes room() override;
  void received(std::size_t bytes) override;
  [[nodiscard]] std::uint64_t left() const override { return incoming_ - arrived_; }

 private:
  [[nodiscard]] const plan::Part& part_at(int distance) const;  // that many members back
  [[nodiscard]] const plan::Part& out_part(int step) const;
  [[nodiscard]] const plan::Part& in_part(int step) const;
  [[nodiscard]] std::size_t width_of(int step) const;
  [[nodiscard]] bool scatters(int step) const noexcept { return step < num_scatter_; }
  [[nodiscard]] bool keeps_results() const noexcept { return arithmetic_.compresses(); }
  void skip_empty();
  void next_in_step();
  void next_out_step();

  void fold_window();
  [[nodiscard]] std::size_t fold_some(std::size_t count);
  void fold_block(const std::byte* arrived, const plan::Part& block, std::byte* out);
  void finish_block(std::byte* arrived, const plan::Part& block);
  void deliver_held();
  [[nodiscard]] std::uint64_t own_results() const;

  Arithmetic& arithmetic_;
  const plan::Parts& parts_;
  const int index_;
  const int size_;
  const int num_scatter_;
  const int num_steps_;
  std::uint64_t incoming_ = 0;  // bytes in all
  std::uint64_t arrived_ = 0;

  SendContribution first_;
  Circle circle_;
  std::byte* window_ = nullptr;   // arrived partials that are not folded yet: [window_begin_, window_end_)
  std::byte* space_ = nullptr;    // for own values that are rounded
  std::byte* results_ = nullptr;  // of the own part, where the caller's memory holds another type
  std::size_t window_begin_ = 0;
  std::size_t window_end_ = 0;

  int in_step_ = 0;
  std::uint64_t in_bytes_ = 0;   // arrived of this step
  std::uint64_t in_folded_ = 0;  // elements folded of this step
  std::uint64_t delivered_ = 0;  // bytes of results that went through the circle to the caller
  int out_step_ = 0;
  std::uint64_t out_bytes_ = 0;
};

}  // namespace ring::algo::wire
