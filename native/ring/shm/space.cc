#include "ring/shm/space.h"

#include <iterator>  // for next, prev

#include "ring/shm/layout.h"

namespace ring::shm {

Space::Space(std::uint64_t begin, std::uint64_t end) {
  if (begin < end) free_[begin] = end;
}

std::optional<std::uint64_t> Space::take(std::uint64_t bytes, std::uint64_t alignment) {
  for (auto range = free_.begin(); range != free_.end(); ++range) {
    const auto [begin, end] = *range;
    const std::uint64_t place = round_up(begin, alignment);
    if (place > end || end - place < bytes) continue;
    free_.erase(range);
    if (begin < place) free_[begin] = place;
    if (place + bytes < end) free_[place + bytes] = end;
    return place;
  }
  return std::nullopt;
}

void Space::give(std::uint64_t offset, std::uint64_t bytes) {
  if (bytes == 0) return;
  auto range = free_.insert({offset, offset + bytes}).first;
  if (range != free_.begin()) {
    const auto before = std::prev(range);
    if (before->second == range->first) {
      before->second = range->second;
      free_.erase(range);
      range = before;
    }
  }
  const auto after = std::next(range);
  if (after != free_.end() && range->second == after->first) {
    range->second = after->second;
    free_.erase(after);
  }
}

std::uint64_t Space::free_bytes() const {
  std::uint64_t total = 0;
  for (const auto& [begin, end] : free_) total += end - begin;
  return total;
}

}  // namespace ring::shm
