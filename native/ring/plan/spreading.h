// How one buffer gets to all members. Pure.
//
// Direct: the root sends to all, one hop. Chain: every byte goes once over each link and is sent on while it
// arrives, for large buffers. Tree: along the binary heap that members are connected in, from any of them.
#pragma once

#include <array>   // for array
#include <string>  // for string

#include "ring/plan/cost.h"
#include "ring/plan/topology.h"

namespace ring::plan {

// Receive all from `parent` (-1: this member is the root) and pass it on to the children as it arrives.
struct BroadcastStep {
  int parent = -1;
  int num_children = 0;
  std::array<int, kMostPairs> children{};
};

// `way` kDirect: at most kMostPairs members.
[[nodiscard]] BroadcastStep broadcast_step(Spreading way, int index, int size, int root) noexcept;

// "receive from 2, pass on to 0"
[[nodiscard]] std::string to_string(const BroadcastStep& step);

}  // namespace ring::plan
