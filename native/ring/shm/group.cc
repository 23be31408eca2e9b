#include "ring/shm/group.h"

#include <utility>  // for exchange, move

namespace ring::shm {
namespace {

// At the start of a group's area.
struct GroupHeader {
  std::atomic<std::uint32_t> left;
};

}  // namespace

Result<LocalGroup> LocalGroup::join(std::shared_ptr<Seat> seat, const GroupArea& area, int index,
                                    std::vector<int> seats) {
  if (index < 0 || index >= area.size || seats.size() != static_cast<std::size_t>(area.size)) {
    return Status(Code::kInvalidArgument, "a local group needs one seat for each of its ranks");
  }
  const auto& segment = *seat->segment();
  const auto& layout = segment.layout();
  if (!is_area(segment, area)) {
    return Status(Code::kInvalidArgument, "a group outside of where groups are");
  }
  LocalGroup group;
  group.area_ = area;
  group.index_ = index;
  group.seats_ = std::move(seats);
  group.slot_bytes_ = layout.slot_bytes;
  group.num_slots_ = static_cast<std::uint64_t>(layout.num_slots);
  const std::uint64_t first = area.offset + kHugePage;
  const std::uint64_t own = first + layout.member_bytes() * static_cast<std::uint64_t>(index);
  RING_TRY(segment.reserve(area.offset, kPage));
  RING_TRY(segment.reserve(own, kSlotsOffset));
  for (int member = 0; member < area.size; ++member) {
    group.members_.push_back(segment.base() + first +
                             layout.member_bytes() * static_cast<std::uint64_t>(member));
  }
  group.seat_ = std::move(seat);
  return group;
}

LocalGroup LocalGroup::alone() {
  LocalGroup group;
  group.seats_.push_back(0);
  group.members_.push_back(nullptr);
  return group;
}

LocalGroup::LocalGroup(LocalGroup&& other) noexcept
    : seat_(std::exchange(other.seat_, nullptr)),
      area_(other.area_),
      index_(other.index_),
      seats_(std::move(other.seats_)),
      members_(std::move(other.members_)),
      slot_bytes_(other.slot_bytes_),
      num_slots_(other.num_slots_),
      has_slots_(other.has_slots_) {}

LocalGroup::~LocalGroup() {
  if (!seat_) return;
  const auto& segment = *seat_->segment();
  auto& header = *reinterpret_cast<GroupHeader*>(segment.base() + area_.offset);
  if (header.left.fetch_add(1) + 1 < static_cast<std::uint32_t>(area_.size)) return;
  give_area(segment, area_);
}

Status LocalGroup::reserve_slots() {
  if (has_slots_ || !seat_) return {};
  const auto begin = slot(index_, 0) - seat_->segment()->base();
  RING_TRY(seat_->segment()->reserve(static_cast<std::uint64_t>(begin), slot_bytes_ * num_slots_));
  has_slots_ = true;
  return {};
}

}  // namespace ring::shm
