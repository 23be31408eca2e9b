// Rollcall: what the ranks of a meeting agree on once neighbours are connected, along a tree of them: the
// memory of each host goes down from the host's first rank, "all below have met" goes up, "go" goes down. So
// a rank that has met knows that all have. Thread-safety: none.
#pragma once

#include <memory>  // for shared_ptr
#include <string>  // for string
#include <vector>  // for vector

#include "ring/base/status.h"
#include "ring/shm/segment.h"
#include "ring/transport/meeting/context.h"
#include "ring/transport/meeting/gathering.h"

namespace ring::transport {

class Rollcall {
 public:
  explicit Rollcall(const Context& context);

  // Moves on. Fails when the memory of this host cannot be had.
  [[nodiscard]] Status advance(Gathering& gathering);
  [[nodiscard]] bool may_go() const noexcept { return may_go_; }
  // Whom this rank waits for although its own neighbours have come; -1 for nobody.
  [[nodiscard]] int waits_for(Gathering& gathering) const;
  [[nodiscard]] std::shared_ptr<shm::Segment> take_segment() noexcept { return std::move(segment_); }

 private:
  [[nodiscard]] Status find_segment(Gathering& gathering);
  [[nodiscard]] Status hand_down(Gathering& gathering);
  [[nodiscard]] Status no_memory(const Status& why) const;
  [[nodiscard]] bool all_below_have_met(Gathering& gathering) const;

  const Context& context_;
  bool shares_;                // this host has several ranks
  int local_parent_;           // -1: creates the memory
  int parent_;                 // in the tree of the whole meeting; -1: its root
  std::vector<int> children_;  // in that tree
  std::vector<int> unserved_;  // children on this host that have not got the memory
  std::shared_ptr<shm::Segment> segment_;
  bool is_ready_ = false;
  bool may_go_ = false;
};

}  // namespace ring::transport
