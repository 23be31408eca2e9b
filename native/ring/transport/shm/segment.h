// Segment: memory without a name (memfd), shared with a peer by passing its descriptor. Nothing lies in
// /dev/shm, so a crash leaves nothing behind. Thread-safe: functions without state.
#pragma once

#include <cstddef>  // for size_t
#include <memory>   // for shared_ptr

#include "ring/base/status.h"
#include "ring/base/unique_fd.h"
#include "ring/transport/byte_ring.h"

namespace ring::transport::shm {

inline constexpr std::size_t kMinRingBytes = std::size_t{4} << 10;
inline constexpr std::size_t kMaxRingBytes = std::size_t{1} << 30;

struct Segment {
  UniqueFd fd;  // to hand over; the mapping lives without it
  std::shared_ptr<void> mapping;
  RingPair rings;
};

// `ring_bytes` (each direction) is a power of two in [kMinRingBytes, kMaxRingBytes]. All pages are reserved,
// so that a lack of memory shows here and not as a bus error later; the size is sealed for the same reason.
[[nodiscard]] Result<Segment> create_segment(std::size_t ring_bytes);

// Maps what a peer created; refuses a descriptor that is too small or that the peer could still shrink.
[[nodiscard]] Result<Segment> map_segment(UniqueFd fd, std::size_t ring_bytes);

[[nodiscard]] bool valid_ring_bytes(std::size_t ring_bytes) noexcept;

}  // namespace ring::transport::shm
