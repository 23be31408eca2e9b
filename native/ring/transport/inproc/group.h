// Inproc: ranks as threads of one process, for tests and for a group of one host's threads. Ranks of one host
// share a segment, rails are byte rings, lifelines are pairs of sockets: as few as between processes.
// Thread-safety: hand each Mesh to one thread; they share no state but what they are there to share.
#pragma once

#include <cstddef>  // for size_t
#include <vector>   // for vector

#include "ring/base/status.h"
#include "ring/transport/mesh.h"

namespace ring::transport {

inline constexpr std::size_t kInprocRingBytes = std::size_t{256} << 10;

// One mesh for each of `size` ranks on one host. kSystem when descriptors or memory run out.
[[nodiscard]] Result<std::vector<Mesh>> inproc_meshes(int size);

// One mesh for each rank; `host_of` by rank, any numbers. `ring_bytes` (each direction of each link) is a
// power of two.
[[nodiscard]] Result<std::vector<Mesh>> inproc_meshes(const std::vector<int>& host_of,
                                                      std::size_t ring_bytes = kInprocRingBytes);

}  // namespace ring::transport
