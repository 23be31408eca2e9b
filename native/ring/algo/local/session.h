// Session: what the collectives of one local group share: lines to meet on, slots, windows, waits and what
// was learned about this machine. Owner: Local; executing thread only.
//
// A meeting: every member fills its line (48 bytes of payload, and what it calls), announces it, and reads
// those of all others. No member can be more than one meeting ahead, so lines and one-shot slots take turns
// in twos and nothing needs a barrier behind it. Pieces in slots are numbered over the life of the group.
#pragma once

#include <cstddef>  // for byte, size_t
#include <cstdint>  // for uint64_t
#include <vector>   // for vector

#include "ring/algo/local/shares.h"
#include "ring/algo/local/tuning.h"
#include "ring/algo/local/windows.h"
#include "ring/backend/backend.h"
#include "ring/backend/interrupt.h"
#include "ring/base/status.h"
#include "ring/shm/group.h"
#include "ring/shm/waiter.h"

namespace ring::algo::local {

class Session {
 public:
  // `ranks`: by member, for messages. Interrupt and meter must outlive the session.
  Session(shm::LocalGroup group, std::vector<int> ranks, backend::Interrupt& interrupt,
          backend::Meter& meter);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  [[nodiscard]] int index() const noexcept { return group_.index(); }
  [[nodiscard]] int size() const noexcept { return group_.size(); }
  [[nodiscard]] int rank_of(int member) const noexcept { return ranks_[static_cast<std::size_t>(member)]; }
  // The rank that a failed wait was for in the end; -1 for none.
  [[nodiscard]] int waited_for() const noexcept { return waited_for_; }
  [[nodiscard]] shm::LocalGroup& group() noexcept { return group_; }
  [[nodiscard]] shm::Waiter& waiter() noexcept { return waiter_; }
  [[nodiscard]] Windows& windows() noexcept { return windows_; }
  [[nodiscard]] const Windows& windows() const noexcept { return windows_; }
  [[nodiscard]] Tuning& tuning() noexcept { return tuning_; }
  [[nodiscard]] backend::Meter& meter() noexcept { return meter_; }

  // The meeting that is being prepared, from `announce` on the current one.
  [[nodiscard]] std::byte* own_payload() noexcept { return group_.line(index(), next_).payload; }
  [[nodiscard]] std::byte* own_one_shot() noexcept { return group_.one_shot(index(), next_); }
  // Comes to the meeting. Whatever was written before is seen by those that `gather`.
  void announce(const backend::Call& call);
  // Waits for all. kMismatch where somebody calls something else.
  [[nodiscard]] Status gather(const backend::Call& call);
  [[nodiscard]] Status meet(const backend::Call& call) {
    announce(call);
    return gather(call);
  }
  // What a member brought to the meeting gathered last.
  [[nodiscard]] const std::byte* payload(int member) const noexcept {
    return group_.line(member, next_ - 1).payload;
  }
  [[nodiscard]] const std::byte* one_shot(int member) const noexcept {
    return group_.one_shot(member, next_ - 1);
  }
  // Waits until all have reached the closing of this meeting: for what is read from or written into others'
  // memory.
  [[nodiscard]] Status close(const backend::Call& call);

  // Room in the own slot for piece `number`, which others may still read in its last life.
  [[nodiscard]] Status room_for(std::uint64_t number, const backend::Call& call);
  void published(std::uint64_t number) { waiter_.advance(group_.progress(index()).published, number + 1); }
  void consumed(std::uint64_t number) { waiter_.advance(group_.progress(index()).consumed, number + 1); }
  [[nodiscard]] Status await_published(int member, std::uint64_t number, const backend::Call& call) {
    return await(member, group_.progress(member).published, number + 1, call);
  }
  [[nodiscard]] Status await_consumed(int member, std::uint64_t number, const backend::Call& call) {
    return await(member, group_.progress(member).consumed, number + 1, call);
  }
  // Numbers for the pieces of one collective; all members take as many. Reserves the slots.
  [[nodiscard]] Status take_numbers(std::uint64_t count, std::uint64_t& first);

  // Scratch of `size()` places, so that no collective allocates.
  [[nodiscard]] std::vector<const std::byte*>& inputs() noexcept { return inputs_; }
  [[nodiscard]] Shares& shares() noexcept { return shares_; }

 private:
  [[nodiscard]] Status await(int member, const std::atomic<std::uint64_t>& word, std::uint64_t target,
                             const backend::Call& call) {
    const auto woken = waiter_.until(member, word, target, call.deadline);
    return woken == shm::Wake::kReady ? Status::ok() : failed(woken, member, call);
  }
  [[nodiscard]] Status failed(shm::Wake how, int member, const backend::Call& call);
  [[nodiscard]] Status disagreement(int first, const backend::Call& call);

  shm::LocalGroup group_;
  std::vector<int> ranks_;
  backend::Interrupt& interrupt_;
  backend::Meter& meter_;
  shm::Waiter waiter_;
  Windows windows_;
  Tuning tuning_;
  int waited_for_ = -1;
  std::uint64_t next_ = 1;
  std::uint64_t next_piece_ = 0;
  std::vector<const std::byte*> inputs_;
  Shares shares_;
};

}  // namespace ring::algo::local
