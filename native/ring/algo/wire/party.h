// Party: the members of one Wire as one of them sees them, and what its algorithms work with. Owner: the
// Wire.
#pragma once

#include <vector>  // for vector

#include "ring/algo/wire/pump.h"
#include "ring/algo/wire/scratch.h"
#include "ring/backend/backend.h"
#include "ring/base/status.h"
#include "ring/plan/cost.h"
#include "ring/plan/parts.h"

namespace ring::algo::wire {

struct Party {
  int index;               // this member
  std::vector<int> ranks;  // of the mesh, by index
  Pump pump;
  plan::Speeds speeds;
  plan::Parts parts;  // of the call, where nobody else keeps them
  Scratch scratch;
  Scratch windows;

  [[nodiscard]] int size() const noexcept { return static_cast<int>(ranks.size()); }
  [[nodiscard]] int next() const noexcept { return (index + 1) % size(); }
  [[nodiscard]] int previous() const noexcept { return (index + size() - 1) % size(); }

  // Begins a collective. Headers go to both ring neighbours whatever the algorithm, so that any disagreement
  // is seen by somebody at once, also between ranks that chose different algorithms.
  void begin() {
    pump.begin();
    if (size() < 2) return;
    add(next(), nullptr, nullptr);
    add(previous(), nullptr, nullptr);
  }
  void add(int member, Outgoing* out, Incoming* in) {
    pump.add(ranks[static_cast<std::size_t>(member)], out, in);
  }
};

}  // namespace ring::algo::wire
