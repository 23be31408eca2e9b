#include "ring/plan/pairwise.h"

#include <algorithm>  // for min

namespace ring::plan {
namespace {

// The piece of `part` that lies in [begin, begin + length) counted from the part's start; may be empty.
Part piece(const Part& part, std::uint64_t begin, std::uint64_t length) {
  const auto start = std::min(begin, part.count);
  return {part.offset + start, std::min(length, part.count - start)};
}

}  // namespace

std::vector<PairwiseBlock> pairwise_reducescatter(int rank, const Parts& parts, std::uint64_t block) {
  const int size = static_cast<int>(parts.size());
  const auto part_of = [&parts](int owner) { return parts[static_cast<std::size_t>(owner)]; };
  std::vector<PairwiseBlock> blocks;
  for (std::uint64_t begin = 0; begin < largest(parts); begin += block) {
    PairwiseBlock current{piece(part_of(rank), begin, block), {}};
    for (int distance = 1; distance < size; ++distance) {
      const int to = (rank + distance) % size;
      const int from = (rank - distance + size) % size;
      current.steps.push_back({to, from, piece(part_of(to), begin, block), current.own});
    }
    blocks.push_back(std::move(current));
  }
  return blocks;
}

std::string to_string(const std::vector<PairwiseBlock>& blocks) {
  std::string text;
  for (const auto& block : blocks) {
    for (const auto& step : block.steps) {
      text += "send " + to_string(step.send) + " to " + std::to_string(step.to) + ", receive " +
              to_string(step.recv) + " from " + std::to_string(step.from) + "\n";
    }
    text += "fold " + to_string(block.own) + "\n";
  }
  return text;
}

}  // namespace ring::plan
