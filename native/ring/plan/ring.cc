#include "ring/plan/ring.h"

namespace ring::plan {
namespace {

// `lead`: how many places before the own part the first part sent lies.
std::vector<RingStep> rotate(int rank, const Parts& parts, int lead) {
  const int size = static_cast<int>(parts.size());
  std::vector<RingStep> steps;
  for (int step = 0; step + 1 < size; ++step) {
    const int send = (rank - lead - step + 2 * size) % size;
    const int recv = previous_rank(send, size);
    steps.push_back(
        {send, recv, parts[static_cast<std::size_t>(send)], parts[static_cast<std::size_t>(recv)]});
  }
  return steps;
}

}  // namespace

std::vector<RingStep> ring_reducescatter(int rank, const Parts& parts) {
  return rotate(rank, parts, 1);
}

std::vector<RingStep> ring_allgather(int rank, const Parts& parts) {
  return rotate(rank, parts, 0);
}

std::string to_string(const std::vector<RingStep>& steps) {
  std::string text;
  for (const auto& step : steps) {
    text += "send part " + std::to_string(step.send_part) + " " + to_string(step.send) + ", receive part " +
            std::to_string(step.recv_part) + " " + to_string(step.recv) + "\n";
  }
  return text;
}

}  // namespace ring::plan
