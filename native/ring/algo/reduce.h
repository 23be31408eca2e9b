// Reducescatter over links, in the two ways that the plans give. Progress thread only.
#pragma once

#include <cstddef>  // for byte, size_t
#include <vector>   // for vector

#include "ring/algo/pump.h"
#include "ring/backend/backend.h"
#include "ring/base/status.h"
#include "ring/plan/parts.h"

namespace ring::algo {

// Memory that is kept between collectives, so that its pages are touched once. Grows only.
class Scratch {
 public:
  [[nodiscard]] std::byte* at_least(std::size_t bytes) {
    if (memory_.size() < bytes) memory_.resize(bytes);
    return memory_.data();
  }

 private:
  std::vector<std::byte> memory_;
};

struct Lane {
  int rank;
  int size;
  Pump& pump;
  Scratch& windows;   // what has arrived and is not folded yet
  Scratch& partials;  // folded parts of other ranks on their way
};

// Where the folded parts go: all of them side by side (allreduce: own part at its offset), or only the own
// one.
enum class Layout { kAllParts, kOwnPart };

// Folds part `rank` over all ranks into `what.recv`. Chooses the plan by dtype and op.
[[nodiscard]] Status reducescatter(Lane lane, const backend::Reduction& what, const plan::Parts& parts,
                                   Layout layout, const backend::Call& call);

}  // namespace ring::algo
