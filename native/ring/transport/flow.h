// What one attempt to move bytes came to. Plain values.
#pragma once

#include <cstddef>  // for size_t

namespace ring::transport {

enum class Flow {
  kMoved,
  kBlocked,  // nothing fits or is there right now
  kEnded,    // the peer has closed
  kBroken,   // the connection failed, and whoever moved it says why
};

struct Step {
  Flow flow = Flow::kBlocked;
  std::size_t bytes = 0;
};

}  // namespace ring::transport
