// Topologies of many shapes: who is where, and that few connections hold all ranks together.
#include <doctest/doctest.h>

#include <algorithm>  // for find, is_sorted
#include <cstdint>    // for size_t
#include <string>     // for string, to_string
#include <vector>     // for vector

#include "ring/plan/topology.h"

namespace {

using namespace ring::plan;

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

// Topologies of all ranks of hosts with the given numbers of ranks; ranks are dealt out to hosts in turn, or
// host by host.
std::vector<Topology> all_ranks(std::vector<int> sizes, bool in_turn) {
  std::vector<std::string> domains;
  bool left = true;
  while (left) {
    left = false;
    for (std::size_t host = 0; host < sizes.size(); ++host) {
      for (; sizes[host] > 0; left = true) {
        domains.push_back("host" + std::to_string(host));
        --sizes[host];
        if (in_turn) break;
      }
      left = left || sizes[host] > 0;
    }
  }
  std::vector<Topology> topologies;
  for (std::size_t rank = 0; rank < domains.size(); ++rank) {
    topologies.push_back(make_topology(domains, static_cast<int>(rank)));
  }
  return topologies;
}

std::vector<int> connections_of(const Topology& topology) {
  auto ranks = local_neighbours(topology);
  for (const int rank : rail_neighbours(topology)) ranks.push_back(rank);
  return ranks;
}

bool contains(const std::vector<int>& values, int value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

int count_reached(const std::vector<Topology>& all) {
  std::vector<int> reached{0};
  for (std::size_t next = 0; next < reached.size(); ++next) {
    for (const int peer : connections_of(all[at(reached[next])])) {
      if (!contains(reached, peer)) reached.push_back(peer);
    }
  }
  return static_cast<int>(reached.size());
}

void check_shape(const std::vector<Topology>& all) {
  CAPTURE(to_string(all.front()));
  int wrong = 0;
  for (const auto& topology : all) {
    wrong += topology.local_ranks()[at(topology.local_index())] != topology.rank;
    wrong += !std::is_sorted(topology.local_ranks().begin(), topology.local_ranks().end());
    wrong += topology.hosts != all.front().hosts;
    if (topology.local_index() < topology.rails()) {
      const auto rail = topology.rail(topology.local_index());
      wrong += rail.size() != topology.hosts.size() || rail[at(topology.host())] != topology.rank;
    }
    wrong += local_neighbours(topology).size() > 7 || rail_neighbours(topology).size() > 7;
    for (const int peer : connections_of(topology)) {
      wrong += peer == topology.rank || !contains(connections_of(all[at(peer)]), topology.rank);
    }
  }
  CHECK(wrong == 0);
  CHECK(count_reached(all) == static_cast<int>(all.size()));
}

TEST_CASE("ranks are where their domain is, few connections hold all together") {
  const std::vector<std::vector<int>> shapes = {
      {1},          {2},          {8},     {9},         {64},   {1, 1},       {2, 2},          {3, 1},
      {1, 5, 2},    {4, 4, 4, 4}, {20, 1}, {16, 16, 3}, {9, 9}, {1, 1, 1, 1}, {2, 2, 2, 2, 2}, {8, 8, 8},
      {1, 2, 3, 4}, {33, 2}};
  for (const auto& shape : shapes) {
    check_shape(all_ranks(shape, true));
    check_shape(all_ranks(shape, false));
  }
  check_shape(all_ranks(std::vector<int>(100, 1), true));
  check_shape(all_ranks(std::vector<int>(20, 3), true));
}

TEST_CASE("hosts are numbered as they appear") {
  const auto topology = make_topology({"b", "a", "b", "c", "a"}, 4);
  CHECK(topology.host_of == std::vector<int>{0, 1, 0, 2, 1});
  CHECK(topology.hosts == std::vector<std::vector<int>>{{0, 2}, {1, 4}, {3}});
  CHECK(topology.host() == 1);
  CHECK(topology.local_index() == 1);
  CHECK(topology.local_size() == 2);
  CHECK(topology.local_index_of(2) == 1);
  CHECK(topology.rails() == 1);
  CHECK(topology.rail(0) == std::vector<int>{0, 1, 3});
  CHECK(topology.rail(1) == std::vector<int>{2, 4});
  CHECK(to_string(topology) == "5 ranks on 3 hosts: [0 2] [1 4] [3]");
  CHECK(rail_neighbours(topology).empty());  // its host has more ranks than another one
  CHECK(local_neighbours(topology) == std::vector<int>{1});
}

TEST_CASE("one rank alone is a topology") {
  CHECK(Topology{}.local_size() == 1);
  CHECK(Topology{}.rails() == 1);
  CHECK(connections_of(make_topology({"x"}, 0)).empty());
}

TEST_CASE("a subset is renumbered by place") {
  const auto whole = make_topology({"a", "a", "b", "b"}, 3);
  const auto part = subset(whole, {3, 0, 2});
  CHECK(part.rank == 0);
  CHECK(part.size == 3);
  CHECK(part.host_of == std::vector<int>{0, 1, 0});
  CHECK(part.hosts == std::vector<std::vector<int>>{{0, 2}, {1}});
  CHECK(subset(whole, {3}).size == 1);
}

TEST_CASE("neighbours are few and mutual") {
  CHECK(neighbours(0, 1).empty());
  CHECK(neighbours(2, 4) == std::vector<int>{0, 1, 3});
  CHECK(neighbours(0, 8).size() == 7);
  CHECK(neighbours(4, 16) == std::vector<int>{1, 3, 5, 9, 10});
  CHECK(neighbours(0, 9) == std::vector<int>{1, 2, 8});
  int wrong = 0;
  for (const int size : {1, 2, 7, 8, 9, 10, 64, 1000}) {
    for (int i = 0; i < size; ++i) {
      const auto mine = neighbours(i, size);
      wrong += size > kMostPairs && mine.size() > 5;
      for (const int peer : mine) wrong += peer == i || !contains(neighbours(peer, size), i);
    }
  }
  CHECK(wrong == 0);
  CHECK(heap_parent(0) == -1);
  CHECK(heap_children(0, 2) == std::vector<int>{1});
}

}  // namespace
