#include "ring/plan/broadcast.h"

namespace ring::plan {

BroadcastPlan binomial_tree(int rank, int size, int root) {
  const int place = (rank - root + size) % size;  // counted from the root
  const auto rank_at = [&](int other) { return (other + root) % size; };
  BroadcastPlan plan;
  int reach = 1;  // the lowest set bit of the own place, or the first power of two at or past the size
  while (reach < size && (place & reach) == 0) reach *= 2;
  if (place != 0) plan.parent = rank_at(place - reach);
  for (int step = reach / 2; step >= 1; step /= 2) {
    if (place + step < size) plan.children.push_back(rank_at(place + step));
  }
  return plan;
}

BroadcastPlan chain(int rank, int size, int root) {
  const int place = (rank - root + size) % size;
  BroadcastPlan plan;
  if (place > 0) plan.parent = (rank - 1 + size) % size;
  if (place + 1 < size) plan.children.push_back((rank + 1) % size);
  return plan;
}

std::string to_string(const BroadcastPlan& plan) {
  std::string text = plan.parent < 0 ? "root" : "receive from " + std::to_string(plan.parent);
  for (const int child : plan.children) text += ", pass on to " + std::to_string(child);
  return text + "\n";
}

}  // namespace ring::plan
