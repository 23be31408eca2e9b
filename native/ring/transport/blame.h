// Who is to blame for a time-out. Every rank waits for another one that waits itself, so each can only name
// the one it waited for; together their views lead to the rank that waits for nobody. Pure.
#pragma once

#include <map>     // for map
#include <string>  // for string
#include <vector>  // for vector

#include "ring/base/status.h"

namespace ring::transport {

// By rank: why it ended, as it said itself; kPeerLost in place of one that can say nothing any more.
using Views = std::map<int, Status>;

// Why `rank` ends, as it should tell the others: blamed for a time-out while itself waiting for `waited_for`
// (-1: for nobody), it names that one.
[[nodiscard]] Status own_view(const Status& cause, int rank, int waited_for,
                              const std::vector<std::string>& hosts);

struct Verdict {
  Status cause;
  bool settled;  // no view that may still come changes it
};

// Follows the blame from `start` through the views of the blamed: to a rank without a view (it is stopped, or
// its answer is under way: not settled), to one that takes the blame, or to a cause that is no time-out.
// Ranks that blame each other in a circle: the highest one, so that all say the same.
[[nodiscard]] Verdict resolve(const Status& start, const Views& views);

}  // namespace ring::transport
