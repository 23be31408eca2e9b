#include "ring/plan/topology.h"

#include <algorithm>  // for find, min, sort, unique
#include <map>        // for map
#include <numeric>    // for iota
#include <utility>    // for move

namespace ring::plan {
namespace {

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

int place_in(const std::vector<int>& members, int rank) {
  return static_cast<int>(std::find(members.begin(), members.end(), rank) - members.begin());
}

// Neighbours of `rank` among `members`, as ranks.
std::vector<int> neighbours_among(const std::vector<int>& members, int rank) {
  std::vector<int> ranks;
  for (const int place : neighbours(place_in(members, rank), static_cast<int>(members.size()))) {
    ranks.push_back(members[at(place)]);
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

Topology from_hosts(int rank, std::vector<int> host_of) {
  Topology topology;
  topology.rank = rank;
  topology.size = static_cast<int>(host_of.size());
  topology.hosts.clear();
  for (std::size_t i = 0; i < host_of.size(); ++i) {
    if (at(host_of[i]) == topology.hosts.size()) topology.hosts.emplace_back();
    topology.hosts[at(host_of[i])].push_back(static_cast<int>(i));
  }
  topology.host_of = std::move(host_of);
  return topology;
}

// Numbers by first appearance.
template <typename Key>
std::vector<int> numbered(const std::vector<Key>& keys) {
  std::map<Key, int> numbers;
  std::vector<int> result;
  for (const Key& key : keys) {
    result.push_back(numbers.emplace(key, static_cast<int>(numbers.size())).first->second);
  }
  return result;
}

}  // namespace

int Topology::host() const {
  return host_of[at(rank)];
}

const std::vector<int>& Topology::local_ranks() const {
  return hosts[at(host())];
}

int Topology::local_index() const {
  return local_index_of(rank);
}

int Topology::local_index_of(int of) const {
  return place_in(hosts[at(host_of[at(of)])], of);
}

int Topology::local_size() const {
  return static_cast<int>(local_ranks().size());
}

int Topology::rails() const {
  std::size_t fewest = hosts.front().size();
  for (const auto& ranks : hosts) fewest = std::min(fewest, ranks.size());
  return static_cast<int>(fewest);
}

std::vector<int> Topology::rail(int i) const {
  std::vector<int> ranks;
  for (const auto& host : hosts) {
    if (at(i) < host.size()) ranks.push_back(host[at(i)]);
  }
  return ranks;
}

Topology make_topology(const std::vector<std::string>& domains_by_rank, int rank) {
  return from_hosts(rank, numbered(domains_by_rank));
}

Topology all_apart(int size, int rank) {
  std::vector<int> host_of(at(size));
  std::iota(host_of.begin(), host_of.end(), 0);
  return from_hosts(rank, std::move(host_of));
}

Topology subset(const Topology& topology, const std::vector<int>& ranks) {
  std::vector<int> host_of;
  for (const int rank : ranks) host_of.push_back(topology.host_of[at(rank)]);
  return from_hosts(place_in(ranks, topology.rank), numbered(host_of));
}

std::vector<int> neighbours(int index, int size) {
  std::vector<int> all;
  if (size <= kMostPairs) {
    for (int i = 0; i < size; ++i) all.push_back(i);
  } else {
    all = heap_children(index, size);
    all.insert(all.end(), {(index + 1) % size, (index + size - 1) % size});
    if (index > 0) all.push_back(heap_parent(index));
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  all.erase(std::remove(all.begin(), all.end(), index), all.end());
  return all;
}

std::vector<int> heap_children(int index, int size) {
  std::vector<int> children;
  for (int child = 2 * index + 1; child <= 2 * index + 2 && child < size; ++child) children.push_back(child);
  return children;
}

std::vector<int> local_neighbours(const Topology& topology) {
  return neighbours_among(topology.local_ranks(), topology.rank);
}

std::vector<int> rail_neighbours(const Topology& topology) {
  const int index = topology.local_index();
  if (index >= topology.rails()) return {};
  return neighbours_among(topology.rail(index), topology.rank);
}

int tree_parent(const Topology& topology) {
  const int index = topology.local_index();
  if (index > 0) return topology.local_ranks()[at(heap_parent(index))];
  if (topology.host() > 0) return topology.hosts[at(heap_parent(topology.host()))].front();
  return -1;
}

std::vector<int> tree_children(const Topology& topology) {
  std::vector<int> ranks;
  for (const int child : heap_children(topology.local_index(), topology.local_size())) {
    ranks.push_back(topology.local_ranks()[at(child)]);
  }
  if (topology.local_index() > 0) return ranks;
  for (const int host : heap_children(topology.host(), topology.num_hosts())) {
    ranks.push_back(topology.hosts[at(host)].front());
  }
  return ranks;
}

std::string to_string(const Topology& topology) {
  std::string text =
      std::to_string(topology.size) + " ranks on " + std::to_string(topology.num_hosts()) + " hosts:";
  for (const auto& ranks : topology.hosts) {
    text += " [";
    for (std::size_t i = 0; i < ranks.size(); ++i) text += (i == 0 ? "" : " ") + std::to_string(ranks[i]);
    text += "]";
  }
  return text;
}

}  // namespace ring::plan
