// Windows: the memory that all members of a group hold in common and can reach at each other: who has which
// part of it where. Owner: the group's Session; executing thread only.
#pragma once

#include <cstddef>   // for byte
#include <cstdint>   // for uint32_t, uint64_t
#include <memory>    // for shared_ptr
#include <optional>  // for optional
#include <vector>    // for vector

#include "ring/shm/adopt.h"

namespace ring::algo::local {

inline constexpr std::uint32_t kNoWindow = 0;

// Where a buffer lies: in which window, how far into it.
struct Place {
  std::uint32_t window = kNoWindow;
  std::uint64_t offset = 0;
};

// One window as all members hold it. Of an adopted buffer only whole pages are shared: [begin, end) of it.
struct Held {
  struct Side {
    std::uint64_t segment_offset = 0;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::byte* shared = nullptr;  // where [begin, end) is mapped here
  };
  std::byte* address = nullptr;  // of this rank's own
  std::uint64_t bytes = 0;       // of this rank's own
  bool adopted = false;
  std::vector<Side> sides;                  // by member
  std::shared_ptr<const shm::Claim> claim;  // of the own pages of an adopted one
};

class Windows {
 public:
  explicit Windows(int index) : index_(static_cast<std::size_t>(index)) {}

  // The lowest free number from 1 on: members that call in the same order get the same.
  [[nodiscard]] std::uint32_t add(Held held);
  // What it was; nothing for a number that is not in use.
  std::optional<Held> remove(std::uint32_t window);

  // The window that holds all of [data, data + bytes); kNoWindow where there is none. An adopted one must
  // still be backed by the shared pages: where it is not, it counts as stale and is not found.
  [[nodiscard]] Place find(const std::byte* data, std::uint64_t bytes);
  [[nodiscard]] const Held* held(std::uint32_t window) const noexcept;

  // The part [begin, end) of a member's buffer of `bytes` at `place` that can be reached from here.
  struct Reach {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::byte* origin = nullptr;  // where byte 0 of the buffer would be; valid in [begin, end)
  };
  [[nodiscard]] std::optional<Reach> reach(int member, const Place& place,
                                           std::uint64_t bytes) const noexcept;

  [[nodiscard]] bool empty() const noexcept { return live_ == 0; }
  [[nodiscard]] std::uint64_t stale() const noexcept { return stale_; }

 private:
  [[nodiscard]] bool still_shared(const Held& held, std::uint64_t offset, std::uint64_t bytes) const;

  std::size_t index_;
  std::vector<std::optional<Held>> windows_;  // number - 1
  std::size_t live_ = 0;
  std::uint64_t stale_ = 0;
};

}  // namespace ring::algo::local
