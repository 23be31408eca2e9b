// Mesh: what one rank holds once all have met. Plain value; its parts go to the engine that it is given to.
#pragma once

#include <map>     // for map
#include <memory>  // for shared_ptr, unique_ptr
#include <string>  // for string
#include <vector>  // for vector

#include "ring/base/deadline.h"
#include "ring/base/status.h"
#include "ring/plan/topology.h"
#include "ring/shm/segment.h"
#include "ring/transport/extender.h"
#include "ring/transport/lifeline.h"
#include "ring/transport/link.h"

namespace ring::transport {

// Ranks that are not connected reach each other through others, or through the extender.
struct Mesh {
  int rank = 0;
  int size = 1;
  std::vector<std::string> hosts;    // by rank, for messages
  std::vector<std::string> reasons;  // by rank, why this transport was chosen; may be empty
  plan::Topology topology;
  const char* local_transport = "shm";       // to ranks of this host
  const char* rail_transport = "tcp";        // to all others
  std::shared_ptr<shm::Segment> segment;     // of this host's ranks; null when this one is alone there
  std::vector<std::unique_ptr<Link>> links;  // by rank: neighbours on the rail; null elsewhere
  std::vector<std::unique_ptr<Lifeline>> lifelines;  // by rank: neighbours on host and rail; null elsewhere
  std::shared_ptr<Extender> extender;                // null where no more links can be opened
};

// Transport by peer, the own rank left out.
[[nodiscard]] std::map<int, std::string> transports_of(const Mesh& mesh);

struct Want {
  int peer;
  unsigned interest;
};

// Waits until one of the wants may be met, `extra_fd` (or -1) becomes readable, or the deadline passes.
// Returns true when woken, false at the deadline.
[[nodiscard]] Result<bool> wait_any(Mesh& mesh, const std::vector<Want>& wants, int extra_fd,
                                    Deadline deadline);

}  // namespace ring::transport
