#include "ring/plan/parts.h"

#include <algorithm>  // for max

namespace ring::plan {

Parts even_parts(std::uint64_t count, int size) {
  Parts parts;
  even_parts(count, size, parts);
  return parts;
}

void even_parts(std::uint64_t count, int size, Parts& parts) {
  const auto ranks = static_cast<std::uint64_t>(size);
  parts.resize(ranks);
  std::uint64_t offset = 0;
  for (std::uint64_t rank = 0; rank < ranks; ++rank) {
    parts[rank] = {offset, count / ranks + (rank < count % ranks ? 1 : 0)};
    offset += parts[rank].count;
  }
}

Parts parts_of(const std::vector<std::uint64_t>& counts) {
  Parts parts;
  parts_of(counts, parts);
  return parts;
}

void parts_of(const std::vector<std::uint64_t>& counts, Parts& parts) {
  parts.clear();
  std::uint64_t offset = 0;
  for (const auto count : counts) {
    parts.push_back({offset, count});
    offset += count;
  }
}

std::uint64_t total(const Parts& parts) noexcept {
  return parts.empty() ? 0 : parts.back().offset + parts.back().count;
}

std::uint64_t largest(const Parts& parts) noexcept {
  std::uint64_t most = 0;
  for (const auto& part : parts) most = std::max(most, part.count);
  return most;
}

std::string to_string(const Part& part) {
  return "[" + std::to_string(part.offset) + ", " + std::to_string(part.offset + part.count) + ")";
}

}  // namespace ring::plan
