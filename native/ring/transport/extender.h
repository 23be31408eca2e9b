// Extender: opens links between ranks that opened none when they met. Owner: the Mesh.
// Thread-safety: none; for the thread that executes a collective.
#pragma once

#include <memory>  // for unique_ptr
#include <vector>  // for vector

#include "ring/backend/interrupt.h"
#include "ring/base/deadline.h"
#include "ring/base/status.h"
#include "ring/transport/link.h"

namespace ring::transport {

class Extender {
 public:
  Extender() = default;
  Extender(const Extender&) = delete;
  Extender& operator=(const Extender&) = delete;
  virtual ~Extender() = default;

  // Fills the places of `peers` in `links` (by rank) that are empty. All ranks concerned call it at the same
  // time, two that are to be linked each naming the other. kAborted when interrupted, kCollectiveTimeout
  // names a rank that did not come, kPeerLost one that left. On failure `links` is as it was, or has some
  // more.
  [[nodiscard]] virtual Status extend(std::vector<std::unique_ptr<Link>>& links,
                                      const std::vector<int>& peers, Deadline deadline,
                                      backend::Interrupt& interrupt) = 0;
};

}  // namespace ring::transport
