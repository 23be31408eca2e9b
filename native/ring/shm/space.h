// Space: which parts of a range of addresses are taken. Pure arithmetic; no thread safety.
#pragma once

#include <cstdint>   // for uint64_t
#include <map>       // for map
#include <optional>  // for optional

namespace ring::shm {

class Space {
 public:
  Space(std::uint64_t begin, std::uint64_t end);

  // The lowest free place, a multiple of `alignment`; nothing when there is none. The same calls give the
  // same places.
  [[nodiscard]] std::optional<std::uint64_t> take(std::uint64_t bytes, std::uint64_t alignment);
  // What `take` gave, with the same size.
  void give(std::uint64_t offset, std::uint64_t bytes);

  [[nodiscard]] std::uint64_t free_bytes() const;

 private:
  std::map<std::uint64_t, std::uint64_t> free_;  // begin -> end, never touching
};

}  // namespace ring::shm
