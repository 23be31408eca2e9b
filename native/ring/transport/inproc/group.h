// Inproc: ranks as threads of one process, for tests and for a group of one host's threads.
// Thread-safety: hand each Mesh to one thread; the meshes share no state but the rings between them.
#pragma once

#include <cstddef>  // for size_t
#include <vector>   // for vector

#include "ring/base/status.h"
#include "ring/transport/mesh.h"

namespace ring::transport {

inline constexpr std::size_t kInprocRingBytes = std::size_t{256} << 10;

// One mesh for each of `size` ranks, fully connected. `ring_bytes` (each direction of each pair) is a power
// of two. kSystem when descriptors run out.
[[nodiscard]] Result<std::vector<Mesh>> inproc_meshes(int size, std::size_t ring_bytes = kInprocRingBytes);

}  // namespace ring::transport
