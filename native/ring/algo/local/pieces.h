// Reduction through slots, piece by piece: every member publishes what others need of its values, reduces its
// own share of each piece straight from their slots, and, for an allreduce, publishes the result in its own
// place of the same slot for the others to copy. Executing thread only.
#pragma once

#include <cstddef>  // for byte, size_t
#include <cstdint>  // for uint64_t

#include "ring/algo/local/session.h"
#include "ring/backend/backend.h"
#include "ring/base/status.h"
#include "ring/kernel/reduce.h"

namespace ring::algo::local {

// How one element range of the own share is reduced: `inputs` by member.
struct Reducer {
  DType dtype;
  ReduceOp op;
  const kernel::Scaling& scaling;
  bool wide = false;
  void operator()(const std::byte* const* inputs, int num_inputs, std::byte* out, std::size_t count) const {
    if (wide) {
      kernel::combine_wide(dtype, op, inputs, num_inputs, out, count, scaling.pre);
    } else {
      kernel::combine(dtype, op, inputs, num_inputs, out, count, scaling);
    }
  }
  [[nodiscard]] std::size_t out_bytes() const {
    return size_of(wide ? kernel::accumulator(dtype, op) : dtype);
  }
};

// The shares must have been cut. `own_out` gets the own share; `all` is the whole result of an allreduce, or
// null.
class Pieces {
 public:
  struct Buffers {
    const std::byte* send;
    std::byte* own_out;
    std::byte* all;
  };
  Pieces(Session& session, const Reducer& reducer, const Buffers& buffers)
      : session_(session), reducer_(reducer), buffers_(buffers), element_(size_of(reducer.dtype)) {}

  // Meets the others and runs. `early`: the way is certain, so the first piece may go out before the meeting;
  // else they have met already.
  [[nodiscard]] Status run(bool met, const backend::Call& call);

 private:
  [[nodiscard]] Status publish(std::uint64_t k, const backend::Call& call);
  [[nodiscard]] Status reduce(std::uint64_t k, const backend::Call& call);
  [[nodiscard]] Status copy_out(std::uint64_t k, const backend::Call& call);
  void reduce_tile(std::uint64_t k, std::size_t begin, std::size_t count);

  Session& session_;
  const Reducer& reducer_;
  Buffers buffers_;
  std::size_t element_;
  std::uint64_t first_ = 0;
};

}  // namespace ring::algo::local
