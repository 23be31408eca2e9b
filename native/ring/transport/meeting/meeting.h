// meet: one rank meets its neighbours, and learns that all others have met theirs. Thread-safety: touches
// only what it is given.
#pragma once

#include "ring/base/deadline.h"
#include "ring/base/status.h"
#include "ring/transport/meeting/context.h"
#include "ring/transport/meeting/doorman.h"
#include "ring/transport/mesh.h"

namespace ring::transport {

struct Doors {
  int tcp_listener = -1;  // borrowed; -1 for one that there is not
  int unix_listener = -1;
};

// Dials the lower ones of its neighbours and lets in the higher ones, all at once in one poll loop; then
// waits for the word that all ranks have met. kRendezvousTimeout names who is missing at the deadline;
// kRendezvous when a proven peer disagrees or refuses; kPeerLost or the peer's own cause when one that was
// already met ends. Peers already met are told. `refusals` gets the count of strangers either way.
[[nodiscard]] Result<Mesh> meet(const Context& context, Doors doors, Deadline deadline, Refusals& refusals);

}  // namespace ring::transport
