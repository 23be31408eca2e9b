// Who is to blame for a time-out. In a ring every rank waits for another one that waits itself; each rank can
// only name the one it waited for. Progress thread only.
#pragma once

#include "ring/backend/interrupt.h"
#include "ring/base/status.h"
#include "ring/transport/link.h"

namespace ring::algo {

// A peer's failure as this rank should repeat it: blamed for a time-out while itself waiting for `waited_for`
// (-1: for nobody), it names that one.
[[nodiscard]] Status own_view(const transport::Mesh& mesh, const Status& cause, int waited_for);

// Asks the blamed rank whom it blames, and so on, for a short grace; a rank that is stopped does not answer
// and keeps the blame. Call after the own view was sent to all peers.
[[nodiscard]] Status settle(transport::Mesh& mesh, const Status& cause, const backend::Interrupt& interrupt);

}  // namespace ring::algo
