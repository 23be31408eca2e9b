// LocalGroup: this rank's view of one group of ranks in a segment: whose lines, counters and slots are where.
// Owner: the group's collectives (algo::Local). The words are shared; the object is its owner's alone.
#pragma once

#include <cstddef>  // for byte, size_t
#include <cstdint>  // for uint64_t
#include <memory>   // for shared_ptr
#include <vector>   // for vector

#include "ring/base/status.h"
#include "ring/shm/areas.h"
#include "ring/shm/layout.h"
#include "ring/shm/seat.h"

namespace ring::shm {

class LocalGroup {
 public:
  // `seats`: local index on the host, by index in the group. Reserves the own control lines. kSystem.
  [[nodiscard]] static Result<LocalGroup> join(std::shared_ptr<Seat> seat, const GroupArea& area, int index,
                                               std::vector<int> seats);
  // A group of one rank that has no segment.
  [[nodiscard]] static LocalGroup alone();

  LocalGroup(LocalGroup&& other) noexcept;
  LocalGroup& operator=(LocalGroup&&) = delete;
  LocalGroup(const LocalGroup&) = delete;
  LocalGroup& operator=(const LocalGroup&) = delete;
  // Leaves. The last member to leave gives the pages back.
  ~LocalGroup();

  [[nodiscard]] int index() const noexcept { return index_; }
  [[nodiscard]] int size() const noexcept { return static_cast<int>(members_.size()); }
  [[nodiscard]] std::size_t slot_bytes() const noexcept { return slot_bytes_; }
  [[nodiscard]] std::uint64_t num_slots() const noexcept { return num_slots_; }
  [[nodiscard]] const std::shared_ptr<Seat>& seat() const noexcept { return seat_; }
  [[nodiscard]] int seat_of(int member) const noexcept { return seats_[place(member)]; }

  // `turn`: the number of a meeting; two take turns.
  [[nodiscard]] Line& line(int member, std::uint64_t turn) const noexcept {
    return control(member).turns[turn % 2].line;
  }
  [[nodiscard]] HeaderPage& header(int member, std::uint64_t turn) const noexcept {
    return control(member).headers[turn % 2];
  }
  [[nodiscard]] Progress& progress(int member) const noexcept { return control(member).progress; }
  [[nodiscard]] Bell& bell(int member) const noexcept { return control(member).bell; }
  [[nodiscard]] std::byte* one_shot(int member, std::uint64_t turn) const noexcept {
    return members_[place(member)] + kOneShotOffset + (turn % 2) * kOneShotBytes;
  }
  [[nodiscard]] std::byte* slot(int member, std::uint64_t piece) const noexcept {
    return members_[place(member)] + kSlotsOffset + (piece % num_slots_) * slot_bytes_;
  }

  // Takes the pages of the own slots; once, and only groups that move more than one-shot slots hold need it.
  [[nodiscard]] Status reserve_slots();

 private:
  LocalGroup() = default;
  static std::size_t place(int member) noexcept { return static_cast<std::size_t>(member); }
  [[nodiscard]] Control& control(int member) const noexcept {
    return *reinterpret_cast<Control*>(members_[place(member)]);
  }

  std::shared_ptr<Seat> seat_;
  GroupArea area_;
  int index_ = 0;
  std::vector<int> seats_;
  std::vector<std::byte*> members_;
  std::size_t slot_bytes_ = 0;
  std::uint64_t num_slots_ = 1;
  bool has_slots_ = false;
};

}  // namespace ring::shm
