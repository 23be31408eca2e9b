// How a buffer is cut into one part per rank. Pure; offsets and counts are elements, 64 bits wide.
#pragma once

#include <cstdint>  // for uint64_t
#include <string>   // for string
#include <vector>   // for vector

namespace ring::plan {

struct Part {
  std::uint64_t offset = 0;
  std::uint64_t count = 0;
  [[nodiscard]] bool operator==(const Part& other) const noexcept {
    return offset == other.offset && count == other.count;
  }
};

// By rank, in order, without gaps.
using Parts = std::vector<Part>;

// As even as possible, larger parts first; with fewer elements than ranks the last parts are empty.
[[nodiscard]] Parts even_parts(std::uint64_t count, int size);
// The same into memory that is there.
void even_parts(std::uint64_t count, int size, Parts& parts);

// Parts of the given lengths.
[[nodiscard]] Parts parts_of(const std::vector<std::uint64_t>& counts);
void parts_of(const std::vector<std::uint64_t>& counts, Parts& parts);

[[nodiscard]] std::uint64_t total(const Parts& parts) noexcept;
[[nodiscard]] std::uint64_t largest(const Parts& parts) noexcept;

// "[offset, end)"
[[nodiscard]] std::string to_string(const Part& part);

}  // namespace ring::plan
