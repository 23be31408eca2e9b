// Tuning: what is chosen by size and by what was measured on this machine. Plain value.
#pragma once

#include <algorithm>  // for clamp, max
#include <cstddef>    // for size_t

#include "ring/kernel/reduce.h"
#include "ring/shm/layout.h"

namespace ring::algo::local {

struct Tuning {
  kernel::Stores slot_stores = kernel::Stores::kPlain;  // into slots that others read
  kernel::Stores push_stores = kernel::Stores::kPlain;  // into registered buffers of others
  bool probed = false;
  bool may_probe = true;
  bool use_windows = true;

  // Up to here everybody publishes all and reduces all by itself: one meeting, no second step.
  [[nodiscard]] static constexpr std::size_t one_shot_bytes(int size) noexcept {
    return size <= 2 ? shm::kOneShotBytes : std::max<std::size_t>(shm::kOneShotBytes / 2, 4096);
  }
  // From here on a probe of the store kind pays.
  static constexpr std::size_t kProbeBytes = std::size_t{1} << 20;

  // Small enough that several pieces overlap, large enough that a wait for each is nothing.
  [[nodiscard]] static constexpr std::size_t piece_bytes(std::size_t total, std::size_t slot) noexcept {
    return std::clamp(total / 4, std::size_t{64} << 10, slot);
  }
};

}  // namespace ring::algo::local
