// The four ways to reduce over the wire. Used by Wire; executing thread only.
#pragma once

#include <cstdint>  // for uint64_t

#include "ring/algo/wire/arithmetic.h"
#include "ring/algo/wire/party.h"
#include "ring/algo/wire/ring.h"
#include "ring/backend/backend.h"
#include "ring/base/status.h"
#include "ring/plan/parts.h"

namespace ring::algo::wire {

// Everybody sends all to everybody, and reduces all in the order of the members. Needs all links.
[[nodiscard]] Status exchange(Party& party, Arithmetic& arithmetic, std::uint64_t count,
                              const backend::Call& call);

// Everybody sends each member its part, reduces its own one in the order of the members, and (kBoth) sends
// the result to everybody. Needs all links.
[[nodiscard]] Status pairwise(Party& party, Arithmetic& arithmetic, const plan::Parts& parts, Phases phases,
                              const backend::Call& call);

// Up a binary heap, children before parents, and down again.
[[nodiscard]] Status tree(Party& party, Arithmetic& arithmetic, std::uint64_t count,
                          const backend::Call& call);

// Round the ring: see ring.h. kGather: only the results, which lie in their places on their owners.
[[nodiscard]] Status ring(Party& party, Arithmetic& arithmetic, const plan::Parts& parts, Phases phases,
                          const backend::Call& call);

}  // namespace ring::algo::wire
