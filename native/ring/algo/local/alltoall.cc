// alltoall: one-shot, through slots, or straight from registered buffers. Every slot has a cell of one size
// for each member, so that a reader needs not know how its peer cuts its buffer.
#include <algorithm>  // for max, min
#include <cstring>    // for memcpy

#include "ring/algo/local/collectives.h"
#include "ring/algo/local/offer.h"

namespace ring::algo::local {
namespace {

using backend::Call;
using plan::Parts;

const plan::Part& part_of(const Parts& parts, int member) {
  return parts[static_cast<std::size_t>(member)];
}

std::uint64_t extent(const Parts& parts) {
  std::uint64_t end = 0;
  for (const auto& part : parts) end = std::max(end, part.offset + part.count);
  return end;
}

class Alltoall {
 public:
  Alltoall(Session& session, const Exchange& exchange, const Call& call)
      : session_(session), exchange_(exchange), call_(call) {}

  Status run() {
    keep_own();
    bring();
    RING_TRY(session_.meet(call_));
    std::uint64_t most = 0;
    bool registered = true;
    for (int member = 0; member < session_.size(); ++member) {
      const Offer offer = offer_of(session_, member);
      most = std::max(most, offer.most);
      registered = registered && (offer.send.window != kNoWindow || offer.most == 0);
    }
    if (most <= one_shot_cell()) return from_one_shots();
    return registered ? direct() : through_slots(most);
  }

 private:
  // A one-shot slot ends with a table of where the parts lie in a registered buffer.
  [[nodiscard]] std::size_t table_bytes() const { return count() * sizeof(std::uint64_t); }
  [[nodiscard]] std::size_t one_shot_cell() const {
    return (shm::kOneShotBytes - table_bytes()) / count() / 64 * 64;
  }
  [[nodiscard]] std::size_t slot_cell() const { return session_.group().slot_bytes() / count() / 64 * 64; }
  [[nodiscard]] std::size_t count() const { return static_cast<std::size_t>(session_.size()); }
  static std::size_t at(int member, std::size_t cell) { return static_cast<std::size_t>(member) * cell; }

  void keep_own() {
    const auto& from = part_of(exchange_.send_bytes, session_.index());
    const auto& to = part_of(exchange_.recv_bytes, session_.index());
    const std::uint64_t bytes = std::min(from.count, to.count);
    if (bytes > 0) std::memmove(exchange_.recv + to.offset, exchange_.send + from.offset, bytes);
  }

  void bring() {
    Offer offer;
    offer.most = plan::largest(exchange_.send_bytes);
    offer.send = whole_place(session_, exchange_.send, extent(exchange_.send_bytes));
    put_offer(session_, offer);
    std::byte* own = session_.own_one_shot();
    for (int member = 0; member < session_.size(); ++member) {
      const auto& part = part_of(exchange_.send_bytes, member);
      std::memcpy(own + shm::kOneShotBytes - table_bytes() + at(member, sizeof part.offset), &part.offset,
                  sizeof part.offset);
      if (offer.most > one_shot_cell() || part.count == 0) continue;
      kernel::copy(exchange_.send + part.offset, own + at(member, one_shot_cell()), part.count);
    }
  }

  Status from_one_shots() {
    for (int step = 1; step < session_.size(); ++step) {
      const int member = (session_.index() + step) % session_.size();
      const auto& part = part_of(exchange_.recv_bytes, member);
      const std::size_t bytes = std::min<std::size_t>(part.count, one_shot_cell());
      if (bytes == 0) continue;
      kernel::copy(session_.one_shot(member) + at(session_.index(), one_shot_cell()),
                   exchange_.recv + part.offset, bytes);
    }
    return {};
  }

  Status direct() {
    for (int step = 1; step < session_.size(); ++step) {
      const int member = (session_.index() + step) % session_.size();
      const auto& part = part_of(exchange_.recv_bytes, member);
      if (part.count == 0) continue;
      std::uint64_t offset = 0;
      std::memcpy(&offset,
                  session_.one_shot(member) + shm::kOneShotBytes - table_bytes() +
                      at(session_.index(), sizeof offset),
                  sizeof offset);
      Place place = offer_of(session_, member).send;
      place.offset += offset;
      const std::byte* theirs = whole_at(session_, member, place, part.count);
      if (theirs == nullptr)
        return {Code::kInternal, call_.what.name() + ": an impossible place in a window"};
      kernel::copy(theirs, exchange_.recv + part.offset, part.count);
    }
    return session_.close(call_);
  }

  Status through_slots(std::uint64_t most) {
    const std::uint64_t pieces = (most + slot_cell() - 1) / slot_cell();
    RING_TRY(session_.take_numbers(pieces, first_));
    RING_TRY(publish(0));
    for (std::uint64_t k = 0; k < pieces; ++k) {
      if (k + 1 < pieces) RING_TRY(publish(k + 1));
      RING_TRY(copy_out(k));
    }
    return {};
  }

  [[nodiscard]] std::uint64_t size_of_piece(const plan::Part& part, std::uint64_t k) const {
    const std::uint64_t begin = std::min<std::uint64_t>(part.count, k * slot_cell());
    return std::min<std::uint64_t>(part.count - begin, slot_cell());
  }

  Status publish(std::uint64_t k) {
    RING_TRY(session_.room_for(first_ + k, call_));
    std::byte* slot = session_.group().slot(session_.index(), first_ + k);
    for (int member = 0; member < session_.size(); ++member) {
      const auto& part = part_of(exchange_.send_bytes, member);
      const std::uint64_t bytes = size_of_piece(part, k);
      if (member == session_.index() || bytes == 0) continue;
      kernel::copy(exchange_.send + part.offset + k * slot_cell(), slot + at(member, slot_cell()), bytes,
                   session_.tuning().slot_stores);
    }
    session_.published(first_ + k);
    return {};
  }

  Status copy_out(std::uint64_t k) {
    for (int step = 1; step < session_.size(); ++step) {
      const int member = (session_.index() + step) % session_.size();
      const auto& part = part_of(exchange_.recv_bytes, member);
      const std::uint64_t bytes = size_of_piece(part, k);
      if (bytes == 0) continue;
      RING_TRY(session_.await_published(member, first_ + k, call_));
      kernel::copy(session_.group().slot(member, first_ + k) + at(session_.index(), slot_cell()),
                   exchange_.recv + part.offset + k * slot_cell(), bytes);
    }
    session_.consumed(first_ + k);
    return {};
  }

  Session& session_;
  const Exchange& exchange_;
  const Call& call_;
  std::uint64_t first_ = 0;
};

}  // namespace

Status alltoall(Session& session, const Exchange& exchange, const Call& call) {
  return Alltoall(session, exchange, call).run();
}

}  // namespace ring::algo::local
