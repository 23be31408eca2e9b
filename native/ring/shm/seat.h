// Seat: one rank's books of its windows. Their memory comes from the rank's own range of the segment, which
// nobody else allocates from. Owner: the rank's groups, shared. No thread safety: one thread at a time.
#pragma once

#include <cstddef>  // for byte
#include <cstdint>  // for uint64_t
#include <memory>   // for shared_ptr

#include "ring/base/status.h"
#include "ring/shm/segment.h"
#include "ring/shm/space.h"

namespace ring::shm {

class Seat {
 public:
  Seat(std::shared_ptr<Segment> segment, int local_index);

  // Pages for a window of this rank: reserved, zero. kSystem when there are none. Gives the offset.
  [[nodiscard]] Result<std::uint64_t> take(std::uint64_t bytes);
  // Gives the pages back. Nobody may touch them any more.
  void give(std::uint64_t offset, std::uint64_t bytes);

  [[nodiscard]] const std::shared_ptr<Segment>& segment() const noexcept { return segment_; }
  [[nodiscard]] int local_index() const noexcept { return local_index_; }
  // The window memory of a rank of this host, or null when it does not lie in that rank's range.
  [[nodiscard]] std::byte* window(int local_index, std::uint64_t offset, std::uint64_t bytes) const noexcept;

 private:
  std::shared_ptr<Segment> segment_;
  int local_index_;
  Space windows_;
};

}  // namespace ring::shm
