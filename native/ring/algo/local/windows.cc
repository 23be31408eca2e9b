#include "ring/algo/local/windows.h"

#include <algorithm>  // for max, min
#include <utility>    // for move

#include "ring/shm/adopt.h"

namespace ring::algo::local {

std::uint32_t Windows::add(Held held) {
  std::size_t free = 0;
  while (free < windows_.size() && windows_[free]) ++free;
  if (free == windows_.size()) windows_.emplace_back();
  windows_[free] = std::move(held);
  ++live_;
  return static_cast<std::uint32_t>(free + 1);
}

std::optional<Held> Windows::remove(std::uint32_t window) {
  if (held(window) == nullptr) return std::nullopt;
  auto removed = std::move(windows_[window - 1]);
  windows_[window - 1].reset();
  --live_;
  return removed;
}

const Held* Windows::held(std::uint32_t window) const noexcept {
  if (window == kNoWindow || window > windows_.size() || !windows_[window - 1]) return nullptr;
  return &*windows_[window - 1];
}

Place Windows::find(const std::byte* data, std::uint64_t bytes) {
  if (live_ == 0) return {};
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    if (!windows_[i]) continue;
    const Held& one = *windows_[i];
    const auto begin = reinterpret_cast<std::uintptr_t>(one.address);
    if (address < begin || address - begin > one.bytes || one.bytes - (address - begin) < bytes) continue;
    if (one.adopted && !still_shared(one, address - begin, bytes)) {
      ++stale_;
      return {};
    }
    return {static_cast<std::uint32_t>(i + 1), address - begin};
  }
  return {};
}

bool Windows::still_shared(const Held& one, std::uint64_t offset, std::uint64_t bytes) const {
  const Held::Side& side = one.sides[index_];
  const std::uint64_t begin = std::max(offset, side.begin);
  const std::uint64_t end = std::min(offset + bytes, side.end);
  if (begin >= end) return false;
  for (const std::uint64_t at : {begin, begin + (end - begin) / 2, end - 1}) {
    if (!shm::is_backed_by(one.address + at, side.shared + (at - side.begin))) return false;
  }
  return true;
}

std::optional<Windows::Reach> Windows::reach(int member, const Place& place,
                                             std::uint64_t bytes) const noexcept {
  const Held* one = held(place.window);
  if (one == nullptr) return std::nullopt;
  const Held::Side& side = one->sides[static_cast<std::size_t>(member)];
  const std::uint64_t begin = std::max(place.offset, side.begin);
  const std::uint64_t end = std::min(place.offset + bytes, side.end);
  if (place.offset + bytes < bytes || begin > end) return std::nullopt;  // not what an honest peer writes
  // May point outside of the window where byte 0 is not shared, so it is computed as a number.
  const auto origin = reinterpret_cast<std::uintptr_t>(side.shared) + place.offset - side.begin;
  return Reach{begin - place.offset, end - place.offset, reinterpret_cast<std::byte*>(origin)};
}

}  // namespace ring::algo::local
