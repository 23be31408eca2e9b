#include "ring/transport/inproc/group.h"

#include <cstdint>  // for uint64_t
#include <memory>   // for make_shared
#include <string>   // for to_string
#include <utility>  // for move

#include "ring/transport/inproc/extender.h"
#include "ring/transport/inproc/pair.h"

namespace ring::transport {
namespace {

constexpr const char* kHost = "this process";
constexpr std::uint64_t kAddressSpace = std::uint64_t{16} << 30;  // of each segment; touched as it is used

std::size_t at(int rank) {
  return static_cast<std::size_t>(rank);
}

Mesh lone_mesh(const std::vector<std::string>& domains, int rank) {
  Mesh mesh;
  mesh.rank = rank;
  mesh.size = static_cast<int>(domains.size());
  mesh.hosts.assign(domains.size(), kHost);
  mesh.topology = plan::make_topology(domains, rank);
  mesh.local_transport = mesh.rail_transport = "inproc";
  mesh.links.resize(domains.size());
  mesh.lifelines.resize(domains.size());
  return mesh;
}

Status connect_words(Mesh& low, Mesh& high) {
  auto words = inproc::socket_pair();
  if (!words) return words.status();
  low.lifelines[at(high.rank)] = std::make_unique<Lifeline>(std::move(words.value().first), high.rank, kHost);
  high.lifelines[at(low.rank)] = std::make_unique<Lifeline>(std::move(words.value().second), low.rank, kHost);
  return {};
}

Status connect_all(std::vector<Mesh>& meshes, std::size_t ring_bytes) {
  for (Mesh& high : meshes) {
    for (const int peer : plan::local_neighbours(high.topology)) {
      if (peer < high.rank) RING_TRY(connect_words(meshes[at(peer)], high));
    }
    for (const int peer : plan::rail_neighbours(high.topology)) {
      if (peer > high.rank) continue;
      Mesh& low = meshes[at(peer)];
      RING_TRY(connect_words(low, high));
      auto links = inproc::link_pair(low.rank, high.rank, ring_bytes);
      if (!links) return links.status();
      low.links[at(high.rank)] = std::move(links.value().first);
      high.links[at(low.rank)] = std::move(links.value().second);
    }
  }
  return {};
}

Status share_memory(std::vector<Mesh>& meshes) {
  for (const auto& host : meshes.front().topology.hosts) {
    if (host.size() == 1) continue;
    shm::SegmentOptions options;
    options.local_size = static_cast<int>(host.size());
    options.address_space_bytes = kAddressSpace;
    const auto segment = shm::Segment::in_process(options);
    if (!segment) return {Code::kSystem, "no memory for " + std::to_string(host.size()) + " ranks to share"};
    for (const int rank : host) meshes[at(rank)].segment = segment;
  }
  return {};
}

}  // namespace

Result<std::vector<Mesh>> inproc_meshes(int size) {
  if (size < 1) return Status(Code::kInvalidArgument, "inproc: size must be at least 1");
  return inproc_meshes(std::vector<int>(at(size), 0));
}

Result<std::vector<Mesh>> inproc_meshes(const std::vector<int>& host_of, std::size_t ring_bytes) {
  if (host_of.empty() || ring_bytes == 0 || (ring_bytes & (ring_bytes - 1)) != 0) {
    return Status(Code::kInvalidArgument, "inproc: size must be at least 1, ring_bytes a power of two");
  }
  std::vector<std::string> domains;
  for (const int host : host_of) domains.push_back(std::to_string(host));
  const auto counter = std::make_shared<inproc::Counter>();
  std::vector<Mesh> meshes;
  for (int rank = 0; rank < static_cast<int>(host_of.size()); ++rank) {
    meshes.push_back(lone_mesh(domains, rank));
    meshes.back().extender = std::make_shared<inproc::InprocExtender>(counter, rank, ring_bytes);
  }
  RING_TRY(share_memory(meshes));
  RING_TRY(connect_all(meshes, ring_bytes));
  return meshes;
}

}  // namespace ring::transport
