// Arithmetic: which types the values of one reduction have on the wire, and how they are folded there.
// Owner: the Wire, for one call; used by the executing thread only.
//
// A contribution is what one member brings, as it travels (`raw`). Partial results of several members travel
// as `partial`, the final values as `result`. All three are the type itself for most; float16, bfloat16 and
// means of integers keep wide partials and are rounded once; what comes from a local stage is wide already.
// Compressed float32 is a reduction of float16 or bfloat16: contributions and the result are rounded to it.
#pragma once

#include <array>    // for array
#include <cstddef>  // for byte, size_t
#include <cstdint>  // for uint64_t

#include "ring/base/dtype.h"
#include "ring/kernel/reduce.h"

namespace ring::algo::wire {

// What one member brings to a reduction and where it wants the result.
struct Values {
  const std::byte* own;         // of type `from`
  std::byte* out;               // of type `to`; may be `own` where the types have one size
  DType from;                   // `to`, or its accumulator where values were folded before they came here
  DType to;                     //
  DType wire;                   // `to`, or what float32 is compressed to
  ReduceOp op;                  //
  double prescale = 1;          // before own values are rounded to `wire`
  kernel::Scaling scaling;      // of the whole group; `pre` is for own values that nobody has scaled yet
  std::uint64_t out_begin = 0;  // the element that lies first at `out`
  float* residual = nullptr;    // by element of `own`; null: what rounding loses is lost
};

class Arithmetic {
 public:
  explicit Arithmetic(const Values& values);

  [[nodiscard]] bool compresses() const noexcept { return values_.wire != values_.to; }
  [[nodiscard]] DType raw() const noexcept { return raw_; }
  [[nodiscard]] DType partial() const noexcept { return partial_; }
  [[nodiscard]] DType result() const noexcept { return values_.wire; }

  // The own contribution for [offset, offset + count) as it travels: own memory, or rounded into `space`.
  // Once for each element where it compresses: what is lost goes into the residual.
  [[nodiscard]] const std::byte* contribution(std::uint64_t offset, std::size_t count, std::byte* space);
  // True where `contribution` needs no space.
  [[nodiscard]] bool is_direct() const noexcept { return !compresses(); }

  // Contributions of all members (16 at most) in the order of their indices -> results at `out`.
  // `offset`: where these elements lie among the own values.
  void combine(const std::byte* const* contributions, int num, std::uint64_t offset, std::size_t count,
               std::byte* out);

  // Where several members compute one result, one of them keeps what rounding it lost.
  void keep_result_loss(bool keep) noexcept { keeps_result_loss_ = keep; }

  // Two contributions -> partial.
  void fold_first(const std::byte* one, const std::byte* other, std::uint64_t offset, std::byte* out,
                  std::size_t count);
  // Partial and a contribution -> partial. `out` may be `partial`.
  void fold(const std::byte* partial, const std::byte* contribution, std::uint64_t offset, std::byte* out,
            std::size_t count);
  // Two partials -> partial. `out` may be either.
  void fold_partials(const std::byte* one, const std::byte* other, std::uint64_t offset, std::byte* out,
                     std::size_t count);
  // A contribution that nothing is folded with yet -> partial.
  void widen(const std::byte* contribution, std::byte* out, std::size_t count);
  // Partial -> result. `out` may be `partial` where the types have one size.
  void finish(const std::byte* partial, std::uint64_t offset, std::byte* out, std::size_t count);

  // Where the result of element `offset` belongs.
  [[nodiscard]] std::byte* place(std::uint64_t offset) const {
    return values_.out + (offset - values_.out_begin) * size_of(values_.to);
  }
  // Results, compressed -> the caller's type, into their place in `values.out`. Else they are there already.
  void deliver(const std::byte* results, std::uint64_t offset, std::size_t count) const;

 private:
  static constexpr std::size_t kTile = 2048;
  static constexpr std::size_t kMostInputs = 16;

  void round(std::uint64_t offset, std::size_t count, std::byte* out);
  void round_sum(const float* exact, double unit, std::uint64_t offset, std::size_t count, std::byte* out);
  void keep(const float* exact, const std::byte* rounded, std::uint64_t offset, std::size_t count,
            double unit);
  [[nodiscard]] double result_unit() const;
  void fold_keeping(const std::byte* one, const std::byte* other, double factor, std::uint64_t offset,
                    std::byte* out, std::size_t count);
  void combine_keeping(const std::byte* const* inputs, int num, std::uint64_t offset, std::size_t count,
                       std::byte* out);
  void fold_all(const std::byte* const* contributions, int num, std::size_t count, std::byte* out);

  Values values_;
  DType raw_;
  DType partial_;
  ReduceOp fold_op_;  // of partials: a mean folds as a sum
  bool keeps_result_loss_ = true;
  std::array<float, kTile> exact_;
  std::array<float, kTile> back_;
  alignas(16) std::array<std::byte, kTile * 16> wide_;
};

}  // namespace ring::algo::wire
