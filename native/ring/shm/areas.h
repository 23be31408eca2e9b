// The areas of groups of ranks in a segment. The group of the whole host has the first; for any other one
// member takes an area and tells the others. What all members have left serves the next group of that size.
// The books lie in the segment's header: any thread of any process of the host.
#pragma once

#include <cstdint>  // for uint64_t

#include "ring/base/status.h"
#include "ring/shm/segment.h"

namespace ring::shm {

// Where a group of ranks has its control lines and slots.
struct GroupArea {
  std::uint64_t offset = 0;
  int size = 1;
};

[[nodiscard]] GroupArea area_of_host(const Segment& segment) noexcept;
// Zeroed memory, not reserved yet. kSystem when the addresses are used up.
[[nodiscard]] Result<GroupArea> take_area(const Segment& segment, int size);
// Called by the last member that leaves.
void give_area(const Segment& segment, const GroupArea& area) noexcept;
// Whether the area lies where areas lie: for what a peer says.
[[nodiscard]] bool is_area(const Segment& segment, const GroupArea& area) noexcept;

}  // namespace ring::shm
