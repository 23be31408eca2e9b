#include "ring/algo/local/shares.h"

#include <algorithm>  // for max, min

#include "ring/shm/layout.h"

namespace ring::algo::local {
namespace {

constexpr std::uint64_t kLineBytes = 64;

std::uint64_t divide_up(std::uint64_t value, std::uint64_t by) {
  return (value + by - 1) / by;
}

}  // namespace

void Shares::cut_evenly(std::uint64_t count, std::size_t element_bytes, std::size_t piece_bytes) {
  const std::uint64_t share =
      shm::round_up(divide_up(count, shares_.size()), std::max<std::uint64_t>(kLineBytes / element_bytes, 1));
  std::uint64_t offset = 0;
  for (auto& one : shares_) {
    one.offset = offset;
    one.count = std::min(share, count - offset);
    offset += one.count;
  }
  cut_into_pieces(element_bytes, piece_bytes);
}

void Shares::cut(const plan::Parts& parts, std::size_t element_bytes, std::size_t piece_bytes) {
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    shares_[i].offset = parts[i].offset;
    shares_[i].count = parts[i].count;
  }
  cut_into_pieces(element_bytes, piece_bytes);
}

std::size_t Shares::pack(const plan::Parts& parts, std::size_t element_bytes) {
  std::size_t place = 0;
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    shares_[i] = {parts[i].offset, parts[i].count, parts[i].count, place};
    place += parts[i].count * element_bytes;
  }
  pieces_ = 1;
  return place;
}

// Every share takes the same number of pieces, so that each piece has something for everybody to reduce.
void Shares::cut_into_pieces(std::size_t element_bytes, std::size_t piece_bytes) {
  const std::uint64_t line = std::max<std::uint64_t>(kLineBytes / element_bytes, 1);
  std::uint64_t total = 0;
  for (const auto& one : shares_) total += one.count;
  const std::uint64_t padding = kLineBytes * shares_.size();
  const std::uint64_t usable = piece_bytes > 2 * padding ? piece_bytes - padding : piece_bytes / 2;
  const std::uint64_t pieces = std::max<std::uint64_t>(divide_up(total * element_bytes, usable), 1);
  pieces_ = 0;
  std::size_t place = 0;
  for (auto& one : shares_) {
    one.chunk = shm::round_up(divide_up(one.count, pieces), line);
    one.place = place;
    place += one.chunk * element_bytes;
    if (one.chunk > 0) pieces_ = std::max(pieces_, divide_up(one.count, one.chunk));
  }
}

}  // namespace ring::algo::local
