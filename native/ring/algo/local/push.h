// push: an allreduce between buffers that all members can reach. Each reduces its share from all of them and
// writes it into all of them. Executing thread only.
#pragma once

#include <cstddef>   // for size_t
#include <cstdint>   // for uint64_t
#include <optional>  // for optional

#include "ring/algo/local/offer.h"
#include "ring/algo/local/session.h"
#include "ring/backend/backend.h"
#include "ring/base/status.h"
#include "ring/kernel/reduce.h"

namespace ring::algo::local {

// What this member says about its buffers; no window where it cannot push. Copies the edges of adopted
// buffers, whose first and last page are private, into the own one-shot slot.
[[nodiscard]] Offer offer_for_push(Session& session, const backend::Reduction& what, std::uint64_t bytes);

// The part of the buffers that all members can reach at each other, in elements.
struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// After the meeting: what can be pushed; nothing where a member cannot. The same on all.
[[nodiscard]] std::optional<Range> pushable(const Session& session, const Offer& mine, std::uint64_t count,
                                            std::size_t element_bytes);

// Returns when all members are done with each other's buffers.
[[nodiscard]] Status push(Session& session, const backend::Reduction& what, const kernel::Scaling& scaling,
                          std::uint64_t count, const Range& range, const backend::Call& call);

}  // namespace ring::algo::local
