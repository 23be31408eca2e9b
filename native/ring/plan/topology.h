// Topology: which ranks share a host, and whom each rank keeps connections to. Pure, plain values.
//
// The ranks of one host are numbered by `local index` in the order of their ranks. A *rail* is the ranks of
// equal local index, one of each host: what a host sends over the wire goes along its rails.
#pragma once

#include <string>  // for string
#include <vector>  // for vector

namespace ring::plan {

// Up to here everybody is connected to everybody.
inline constexpr int kMostPairs = 8;

struct Topology {
  int rank = 0;
  int size = 1;
  std::vector<int> host_of{0};               // host by rank, numbered by first appearance
  std::vector<std::vector<int>> hosts{{0}};  // ascending ranks by host

  [[nodiscard]] int host() const;
  [[nodiscard]] int local_index() const;
  [[nodiscard]] int local_size() const;
  [[nodiscard]] int num_hosts() const noexcept { return static_cast<int>(hosts.size()); }
  // The ranks that share this rank's memory, itself included, by local index.
  [[nodiscard]] const std::vector<int>& local_ranks() const;
  [[nodiscard]] int local_index_of(int rank) const;
  // Every host has that many ranks at least.
  [[nodiscard]] int rails() const;
  // The ranks of local index `i`, by host; hosts with fewer ranks are left out.
  [[nodiscard]] std::vector<int> rail(int i) const;
};

// Ranks of equal text share memory.
[[nodiscard]] Topology make_topology(const std::vector<std::string>& domains_by_rank, int rank);

// Every rank a host of its own.
[[nodiscard]] Topology all_apart(int size, int rank);

// The topology of some of the ranks (ascending or not, this rank among them): place i becomes rank i.
[[nodiscard]] Topology subset(const Topology& topology, const std::vector<int>& ranks);

// Whom member `index` of `size` is connected to, ascending: up to kMostPairs all others, else the ring
// neighbours and the parent and children in the binary heap. At most five. Symmetric.
[[nodiscard]] std::vector<int> neighbours(int index, int size);

// Parent in the heap; -1 for the root.
[[nodiscard]] constexpr int heap_parent(int index) noexcept {
  return index == 0 ? -1 : (index - 1) / 2;
}
[[nodiscard]] std::vector<int> heap_children(int index, int size);

// The ranks that this rank is connected to: neighbours among the ranks of its host, and neighbours on its
// rail, when its local index is below rails(). Each ascending. All ranks hang together by them.
[[nodiscard]] std::vector<int> local_neighbours(const Topology& topology);
[[nodiscard]] std::vector<int> rail_neighbours(const Topology& topology);

// A tree over those connections: the first ranks of the hosts as a heap, below each the heap of its host.
// Parent -1: the root.
[[nodiscard]] int tree_parent(const Topology& topology);
[[nodiscard]] std::vector<int> tree_children(const Topology& topology);

// "4 ranks on 2 hosts: [0 1] [2 3]"
[[nodiscard]] std::string to_string(const Topology& topology);

}  // namespace ring::plan
