// Reduction through slots, piece by piece: every member publishes what others need of its values, reduces its
// own share of each piece straight from their slots, and, for an allreduce, publishes the result in its own
// place of the same slot for the others to copy. Executing thread only.
#pragma once

#include <cstddef>  // for byte, size_t
#include <cstdint>  // for uint64_t

#include "ring/algo/local/reducer.h"
#include "ring/algo/local/session.h"
#include "ring/backend/backend.h"
#include "ring/base/status.h"

namespace ring::algo::local {

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
  void reduce_share(std::uint64_t k);

  Session& session_;
  const Reducer& reducer_;
  Buffers buffers_;
  std::size_t element_;
  std::uint64_t first_ = 0;
};

}  // namespace ring::algo::local
