// The collectives of one host, each over the cheapest way that sizes and windows allow: in the lines of a
// meeting, through one-shot slots, through slots piece by piece, or straight between registered buffers.
// All members choose the same way. Executing thread only.
#pragma once

#include <cstddef>  // for byte
#include <cstdint>  // for uint64_t

#include "ring/algo/local/session.h"
#include "ring/backend/backend.h"
#include "ring/base/bytes.h"
#include "ring/base/status.h"
#include "ring/kernel/reduce.h"
#include "ring/plan/parts.h"

namespace ring::algo::local {

[[nodiscard]] Status allreduce(Session& session, const backend::Reduction& what,
                               const kernel::Scaling& scaling, std::uint64_t count,
                               const backend::Call& call);

// What a reducescatter is to leave in `out`: values of the dtype, or of its accumulator without post.
struct Scatter {
  const backend::Reduction& what;
  const kernel::Scaling& scaling;
  const plan::Parts& parts;  // of `what.send`, by member
  bool wide;
  std::byte* out;
};
[[nodiscard]] Status reducescatter(Session& session, const Scatter& scatter, const backend::Call& call);

[[nodiscard]] Status allgather(Session& session, std::byte* data, const plan::Parts& bytes,
                               const backend::Call& call);

[[nodiscard]] Status broadcast(Session& session, MutableBytes buffer, int root, const backend::Call& call);

struct Exchange {
  const std::byte* send;
  const plan::Parts& send_bytes;  // by member
  std::byte* recv;
  const plan::Parts& recv_bytes;  // by member
};
[[nodiscard]] Status alltoall(Session& session, const Exchange& exchange, const backend::Call& call);

}  // namespace ring::algo::local
