// Pairwise plan: every rank gives each other rank the raw values of that rank's part, and folds its own part
// from all of them in rank order. As many bytes as the ring, but no partial result is ever rounded. Pure.
#pragma once

#include <cstdint>  // for uint64_t
#include <string>   // for string
#include <vector>   // for vector

#include "ring/plan/parts.h"

namespace ring::plan {

// At once: send `send` of own values to rank `to`, receive the values of rank `from` for `recv`, a piece of
// the own part.
struct PairwiseStep {
  int to;
  int from;
  Part send;
  Part recv;
};

// One block of every part: after its k - 1 exchanges, `own` can be folded.
struct PairwiseBlock {
  Part own;
  std::vector<PairwiseStep> steps;
};

// `block`: most elements of a part handled at once; bounds the memory for raw values to k * block elements.
[[nodiscard]] std::vector<PairwiseBlock> pairwise_reducescatter(int rank, const Parts& parts,
                                                                std::uint64_t block);

[[nodiscard]] std::string to_string(const std::vector<PairwiseBlock>& blocks);

}  // namespace ring::plan
