#include "ring/plan/spreading.h"

namespace ring::plan {
namespace {

void add_child(BroadcastStep& step, int child) noexcept {
  step.children[static_cast<std::size_t>(step.num_children++)] = child;
}

// The child of `top` below which `member` lies (or which it is); -1 where it lies elsewhere.
int branch_towards(int top, int member) noexcept {
  while (member > top) {
    const int parent = heap_parent(member);
    if (parent == top) return member;
    member = parent;
  }
  return -1;
}

// The heap without direction: whatever does not lie towards the root gets it from here.
BroadcastStep tree_step(int index, int size, int root) noexcept {
  BroadcastStep step;
  const int up = heap_parent(index);
  const int branch = index == root ? -1 : branch_towards(index, root);
  if (index != root) step.parent = branch >= 0 ? branch : up;
  if (up >= 0 && step.parent != up) add_child(step, up);
  for (int child = 2 * index + 1; child <= 2 * index + 2 && child < size; ++child) {
    if (child != branch) add_child(step, child);
  }
  return step;
}

}  // namespace

BroadcastStep broadcast_step(Spreading way, int index, int size, int root) noexcept {
  if (way == Spreading::kTree) return tree_step(index, size, root);
  BroadcastStep step;
  if (way == Spreading::kChain) {
    const int place = (index - root + size) % size;
    if (place > 0) step.parent = (index - 1 + size) % size;
    if (place + 1 < size) add_child(step, (index + 1) % size);
    return step;
  }
  if (index != root) {
    step.parent = root;
    return step;
  }
  for (int member = 0; member < size; ++member) {
    if (member != root) add_child(step, member);
  }
  return step;
}

std::string to_string(const BroadcastStep& step) {
  std::string text = step.parent < 0 ? "root" : "receive from " + std::to_string(step.parent);
  for (int i = 0; i < step.num_children; ++i) {
    text += ", pass on to " + std::to_string(step.children[static_cast<std::size_t>(i)]);
  }
  return text + "\n";
}

}  // namespace ring::plan
