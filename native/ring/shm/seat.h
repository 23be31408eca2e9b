// Seat: one rank's books of a segment. Group areas are numbered alike by all ranks of a host, for all
// allocate them in the same order, members or not; window memory comes from the rank's own range, which
// nobody else allocates from. Owner: the rank's groups, shared. No thread safety: one thread at a time.
#pragma once

#include <cstddef>  // for byte
#include <cstdint>  // for uint64_t
#include <memory>   // for shared_ptr

#include "ring/base/status.h"
#include "ring/shm/segment.h"
#include "ring/shm/space.h"

namespace ring::shm {

// Where a group of ranks has its control lines and slots.
struct GroupArea {
  std::uint64_t offset = 0;
  int size = 1;
};

class Seat {
 public:
  Seat(std::shared_ptr<Segment> segment, int local_index);

  // Called by every rank of the host for every group that has two members here or more. Places are never
  // used again: ranks close groups in any order. kSystem when the addresses are used up.
  [[nodiscard]] Result<GroupArea> add_group(int size);

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
  std::uint64_t next_group_;
  Space windows_;
};

}  // namespace ring::shm
