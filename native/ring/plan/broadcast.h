// Broadcast plans. Pure.
//
// A tree takes log2(k) hops, for small buffers; a chain sends every byte once over each link and streams it
// on while it arrives, for large ones.
#pragma once

#include <string>  // for string
#include <vector>  // for vector

namespace ring::plan {

// Receive all from `parent` (-1: this rank is the root) and pass it on to `children` as it arrives.
struct BroadcastPlan {
  int parent = -1;
  std::vector<int> children;
};

[[nodiscard]] BroadcastPlan binomial_tree(int rank, int size, int root);
[[nodiscard]] BroadcastPlan chain(int rank, int size, int root);

[[nodiscard]] std::string to_string(const BroadcastPlan& plan);

}  // namespace ring::plan
