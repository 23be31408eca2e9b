// Tuning: what is chosen by size and by what was measured on this machine. Plain value.
#pragma once

#include <algorithm>  // for clamp, min
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

  // Up to here everybody publishes all and reduces all by itself: one meeting, no second step. Chosen at the
  // opening where it is 0.
  std::size_t one_shot_bytes = 0;
  // Pieces of this many bytes and more are worth the waits between them.
  std::size_t least_piece_bytes = std::size_t{64} << 10;
  // From here on a probe of the store kind pays.
  static constexpr std::size_t kProbeBytes = std::size_t{1} << 20;

  // Small enough that several pieces overlap, large enough that a wait for each is nothing.
  [[nodiscard]] std::size_t piece_bytes(std::size_t total, std::size_t slot) const noexcept {
    return std::clamp(total / 4, std::min(least_piece_bytes, slot), slot);
  }
};

}  // namespace ring::algo::local
