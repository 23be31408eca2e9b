// Dissemination barrier: in round i every rank tells the one 2^i places on that it has come. Pure.
#pragma once

#include <vector>  // for vector

namespace ring::plan {

struct BarrierRound {
  int to;
  int from;
};

// log2(k) rounds, rounded up.
[[nodiscard]] inline std::vector<BarrierRound> dissemination(int rank, int size) {
  std::vector<BarrierRound> rounds;
  for (int distance = 1; distance < size; distance *= 2) {
    rounds.push_back({(rank + distance) % size, (rank - distance + size) % size});
  }
  return rounds;
}

}  // namespace ring::plan
