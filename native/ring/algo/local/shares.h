// Shares: which part of a buffer each member reduces, cut into pieces that fit a slot. Pure.
#pragma once

#include <cstddef>  // for size_t
#include <cstdint>  // for uint64_t
#include <vector>   // for vector

#include "ring/plan/parts.h"

namespace ring::algo::local {

// The part of one member; elements, but for the place in a slot, which is in bytes.
struct Share {
  std::uint64_t offset = 0;
  std::uint64_t count = 0;
  std::uint64_t chunk = 0;  // of it in each piece
  std::size_t place = 0;    // of its chunk in a slot

  // [begin, end) within the share: what piece `k` holds of it.
  [[nodiscard]] std::uint64_t begin(std::uint64_t k) const noexcept {
    return k * chunk < count ? k * chunk : count;
  }
  [[nodiscard]] std::uint64_t end(std::uint64_t k) const noexcept { return begin(k + 1); }
};

class Shares {
 public:
  explicit Shares(int size) : shares_(static_cast<std::size_t>(size)) {}

  // As even as whole cache lines allow.
  void cut_evenly(std::uint64_t count, std::size_t element_bytes, std::size_t piece_bytes);
  // The given parts, by member.
  void cut(const plan::Parts& parts, std::size_t element_bytes, std::size_t piece_bytes);
  // The given parts in one piece, one behind the other. Gives the bytes they take.
  std::size_t pack(const plan::Parts& parts, std::size_t element_bytes);

  [[nodiscard]] const Share& of(int member) const noexcept {
    return shares_[static_cast<std::size_t>(member)];
  }
  [[nodiscard]] std::uint64_t pieces() const noexcept { return pieces_; }

 private:
  void cut_into_pieces(std::size_t element_bytes, std::size_t piece_bytes);

  std::vector<Share> shares_;
  std::uint64_t pieces_ = 0;
};

}  // namespace ring::algo::local
