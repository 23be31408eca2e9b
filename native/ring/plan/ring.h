// Ring plans: every rank sends to the next and receives from the one before. Pure.
//
// With n bytes and k ranks each plan takes k - 1 steps and moves n * (k - 1) / k bytes out of and into each
// rank.
#pragma once

#include <string>  // for string
#include <vector>  // for vector

#include "ring/plan/parts.h"

namespace ring::plan {

[[nodiscard]] constexpr int next_rank(int rank, int size) noexcept {
  return (rank + 1) % size;
}
[[nodiscard]] constexpr int previous_rank(int rank, int size) noexcept {
  return (rank + size - 1) % size;
}

// At once: send part `send_part` to the next rank, receive part `recv_part` from the previous one.
struct RingStep {
  int send_part;
  int recv_part;
  Part send;
  Part recv;
};

// What is received is folded with the own values of that part; after the last step rank r has part r reduced.
// Step s sends what step s - 1 folded; step 0 sends own values.
[[nodiscard]] std::vector<RingStep> ring_reducescatter(int rank, const Parts& parts);

// Starts with part r on rank r; afterwards every rank has all parts.
[[nodiscard]] std::vector<RingStep> ring_allgather(int rank, const Parts& parts);

[[nodiscard]] std::string to_string(const std::vector<RingStep>& steps);

}  // namespace ring::plan
