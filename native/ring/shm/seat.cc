#include "ring/shm/seat.h"

#include <string>   // for to_string
#include <utility>  // for move

namespace ring::shm {
namespace {

// What one window takes: whole huge pages where it is large enough to have any.
std::uint64_t footprint(std::uint64_t bytes) {
  return round_up(bytes > 0 ? bytes : 1, bytes >= kHugePage ? kHugePage : kPage);
}

std::uint64_t alignment_of(std::uint64_t bytes) {
  return bytes >= kHugePage ? kHugePage : kPage;
}

}  // namespace

Seat::Seat(std::shared_ptr<Segment> segment, int local_index)
    : segment_(std::move(segment)),
      local_index_(local_index),
      windows_(segment_->layout().range_begin(local_index),
               segment_->layout().range_begin(local_index) + segment_->layout().range_bytes()) {}

Result<std::uint64_t> Seat::take(std::uint64_t bytes) {
  const auto place = windows_.take(footprint(bytes), alignment_of(bytes));
  if (!place) {
    return Status(Code::kSystem,
                  "shared memory has no addresses left for a window of " + std::to_string(bytes) + " bytes");
  }
  const Status reserved = segment_->reserve(*place, footprint(bytes));
  if (!reserved) {
    windows_.give(*place, footprint(bytes));
    return reserved;
  }
  return *place;
}

void Seat::give(std::uint64_t offset, std::uint64_t bytes) {
  segment_->discard(offset, footprint(bytes));
  windows_.give(offset, footprint(bytes));
}

std::byte* Seat::window(int local_index, std::uint64_t offset, std::uint64_t bytes) const noexcept {
  const auto& layout = segment_->layout();
  if (local_index < 0 || local_index >= layout.local_size) return nullptr;
  const std::uint64_t begin = layout.range_begin(local_index);
  if (offset < begin || offset - begin > layout.range_bytes()) return nullptr;
  if (layout.range_bytes() - (offset - begin) < bytes) return nullptr;
  return segment_->base() + offset;
}

}  // namespace ring::shm
