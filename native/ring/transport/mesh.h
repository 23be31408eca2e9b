// Mesh: what one rank holds once all have met. Plain value; its parts go to the engine that it is given to.
#pragma once

#include <memory>  // for shared_ptr, unique_ptr
#include <string>  // for string
#include <vector>  // for vector

#include "ring/base/deadline.h"
#include "ring/base/status.h"
#include "ring/plan/topology.h"
#include "ring/shm/segment.h"
#include "ring/transport/lifeline.h"
#include "ring/transport/link.h"

namespace ring::transport {

struct Mesh {
  int rank = 0;
  int size = 1;
  std::vector<std::string> hosts;    // by rank, for messages
  std::vector<std::string> reasons;  // by rank, why this transport was chosen; may be empty
  plan::Topology topology;
  std::shared_ptr<shm::Segment> segment;  // of this host's ranks; null when alone
  std::vector<std::unique_ptr<Link>> links;          // by rank; null where there is none
  std::vector<std::unique_ptr<Lifeline>> lifelines;  // by rank; null where there is none
};

struct Want {
  int peer;
  unsigned interest;
};

// Waits until one of the wants may be met, `extra_fd` (or -1) becomes readable, or the deadline passes.
// Returns true when woken, false at the deadline.
[[nodiscard]] Result<bool> wait_any(Mesh& mesh, const std::vector<Want>& wants, int extra_fd,
                                    Deadline deadline);

}  // namespace ring::transport
