#include "ring/shm/areas.h"

#include <string>  // for to_string

namespace ring::shm {
namespace {

// Areas begin at huge pages, so the low bits of an offset have room for a size.
static_assert(kMaxMembers < kHugePage);

std::uint64_t packed(const GroupArea& area) noexcept {
  return area.offset + static_cast<std::uint64_t>(area.size);
}

GroupArea unpacked(std::uint64_t word) noexcept {
  return {word / kHugePage * kHugePage, static_cast<int>(word % kHugePage)};
}

}  // namespace

GroupArea area_of_host(const Segment& segment) noexcept {
  return {segment.layout().groups_begin(), segment.layout().local_size};
}

Result<GroupArea> take_area(const Segment& segment, int size) {
  const auto& layout = segment.layout();
  if (size < 1 || size > layout.local_size) {
    return Status(Code::kInvalidArgument, "a group of " + std::to_string(size) + " ranks on a host of " +
                                              std::to_string(layout.local_size));
  }
  auto& header = segment.header();
  for (auto& entry : header.free_areas) {
    std::uint64_t word = entry.load();
    const GroupArea area = unpacked(word);
    if (word == 0 || area.size != size || !is_area(segment, area)) continue;
    if (entry.compare_exchange_strong(word, 0)) return area;
  }
  const std::uint64_t bytes = layout.group_bytes(size);
  std::uint64_t next = header.next_area.load();
  do {
    if (!is_area(segment, {next, size})) {
      return Status(Code::kSystem, "shared memory has no addresses left for another group of ranks");
    }
  } while (!header.next_area.compare_exchange_weak(next, next + bytes));
  return GroupArea{next, size};
}

void give_area(const Segment& segment, const GroupArea& area) noexcept {
  segment.discard(area.offset, segment.layout().group_bytes(area.size));
  for (auto& entry : segment.header().free_areas) {
    std::uint64_t none = 0;
    if (entry.compare_exchange_strong(none, packed(area))) return;
  }  // no entry is free: its addresses are not used again
}

bool is_area(const Segment& segment, const GroupArea& area) noexcept {
  const auto& layout = segment.layout();
  if (area.size < 1 || area.size > layout.local_size || area.offset % kHugePage != 0) return false;
  return area.offset >= layout.groups_begin() && area.offset <= layout.groups_end() &&
         layout.groups_end() - area.offset >= layout.group_bytes(area.size);
}

}  // namespace ring::shm
