// What lies where in a segment and in the area of one group, as both sides see it. Plain values.
//
//   header | group areas | window range of local index 0 | of 1 | ...
//   group area: its header, then for each member: control, one-shot slots, slots
//
// Memory is zero until written, and zero is how every counter starts. Offsets come from sizes only, never
// from what a peer wrote.
#pragma once

#include <atomic>   // for atomic
#include <cstddef>  // for byte, size_t
#include <cstdint>  // for uint32_t, uint64_t

namespace ring::shm {

inline constexpr std::uint64_t kMagic = 0x33676e6972736470U;
inline constexpr std::uint32_t kVersion = 2;
inline constexpr std::size_t kPage = 4096;
inline constexpr std::size_t kHugePage = std::size_t{2} << 20;
inline constexpr std::size_t kPayload = 48;
inline constexpr std::size_t kHeaderBytes = kPage - sizeof(std::uint64_t);
inline constexpr std::size_t kOneShotBytes = std::size_t{64} << 10;
inline constexpr int kMaxMembers = 1024;
inline constexpr std::size_t kFreeAreas = 448;

[[nodiscard]] constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) noexcept {
  return (value + unit - 1) / unit * unit;
}

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

struct SegmentHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t local_size;
  std::uint64_t bytes;
  std::uint64_t slot_bytes;
  std::uint32_t num_slots;
  // What the probe of the host's first group found, so that later groups need none: 0 unknown.
  std::atomic<std::uint32_t> probed;
  // The books of group areas (areas.h): from here on no addresses were used; and offset + size of areas that
  // can be used again, 0 none.
  std::atomic<std::uint64_t> next_area;
  std::atomic<std::uint64_t> free_areas[kFreeAreas];
};
static_assert(sizeof(SegmentHeader) <= kPage);

// What a member says when it comes to a meeting: one cache line, read by all. Two take turns, for a member
// can come to the next meeting before the slowest has read this one, but not to the one after.
struct alignas(64) Line {
  std::atomic<std::uint64_t> sequence;
  std::uint64_t hash;
  std::byte payload[kPayload];
};
static_assert(sizeof(Line) == 64);

// How far a member is, counted over the life of the group.
struct alignas(64) Progress {
  std::atomic<std::uint64_t> published;  // pieces that it has put into its slots
  std::atomic<std::uint64_t> consumed;   // pieces of all others that it is done with
  std::atomic<std::uint64_t> closed;     // meetings whose closing it has reached
};

// What a sleeping member sleeps on. `awaited`: 1 + the member it waits for, 0 while it is awake.
struct alignas(64) Bell {
  std::atomic<std::uint32_t> word;
  std::atomic<std::uint32_t> awaited;
};

// The whole of what is called, read only by those whose hash differs.
struct HeaderPage {
  std::uint64_t size;
  std::byte bytes[kHeaderBytes];
};

// Places are 128 bytes apart: processors fetch lines in pairs.
struct alignas(kPage) Control {
  struct alignas(128) Turn {
    Line line;
  };
  Turn turns[2];
  alignas(128) Progress progress;
  alignas(128) Bell bell;
  alignas(kPage) HeaderPage headers[2];
};

inline constexpr std::size_t kOneShotOffset = round_up(sizeof(Control), kPage);
inline constexpr std::size_t kSlotsOffset = kOneShotOffset + 2 * kOneShotBytes;

// Where everything is, from the sizes of a segment.
struct Layout {
  std::uint64_t bytes = 0;
  int local_size = 1;
  std::size_t slot_bytes = 0;
  int num_slots = 0;

  [[nodiscard]] std::uint64_t member_bytes() const noexcept {
    return round_up(kSlotsOffset + slot_bytes * static_cast<std::size_t>(num_slots), kHugePage);
  }
  [[nodiscard]] std::uint64_t group_bytes(int size) const noexcept {
    return kHugePage + member_bytes() * static_cast<std::uint64_t>(size);
  }
  [[nodiscard]] std::uint64_t groups_begin() const noexcept { return kHugePage; }
  [[nodiscard]] std::uint64_t groups_end() const noexcept {
    const std::uint64_t least = groups_begin() + group_bytes(local_size);
    return round_up(bytes / 8 > least ? bytes / 8 : least, kHugePage);
  }
  // What each local index has for windows.
  [[nodiscard]] std::uint64_t range_bytes() const noexcept {
    if (bytes <= groups_end()) return 0;
    return (bytes - groups_end()) / static_cast<std::uint64_t>(local_size) / kHugePage * kHugePage;
  }
  [[nodiscard]] std::uint64_t range_begin(int local_index) const noexcept {
    return groups_end() + range_bytes() * static_cast<std::uint64_t>(local_index);
  }
  [[nodiscard]] bool valid() const noexcept {
    return local_size >= 1 && local_size <= kMaxMembers && num_slots >= 3 && num_slots <= 64 &&
           slot_bytes >= kOneShotBytes && slot_bytes <= (std::size_t{64} << 20) && slot_bytes % kPage == 0 &&
           bytes >= groups_end();
  }
};

}  // namespace ring::shm
