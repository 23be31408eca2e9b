// Pairs of ends between two ranks that are threads of one process. Thread-safe: functions without state.
#pragma once

#include <cstddef>  // for size_t
#include <memory>   // for shared_ptr, unique_ptr
#include <utility>  // for pair

#include "ring/base/status.h"
#include "ring/base/unique_fd.h"
#include "ring/transport/link.h"

namespace ring::transport::inproc {

// Connected, non-blocking. kSystem when descriptors run out.
[[nodiscard]] Result<std::pair<UniqueFd, UniqueFd>> socket_pair();

// The end of rank `one`, then that of rank `two`.
using LinkPair = std::pair<std::unique_ptr<Link>, std::unique_ptr<Link>>;
[[nodiscard]] Result<LinkPair> link_pair(int one, int two, std::size_t ring_bytes);

}  // namespace ring::transport::inproc
