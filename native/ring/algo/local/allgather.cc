// allgather: in the lines, one-shot, through slots, or straight from registered buffers.
#include <algorithm>  // for min

#include "ring/algo/local/collectives.h"
#include "ring/algo/local/offer.h"

namespace ring::algo::local {
namespace {

using backend::Call;
using plan::Parts;

const plan::Part& part_of(const Parts& parts, int member) {
  return parts[static_cast<std::size_t>(member)];
}

template <typename PlaceOf>
Status in_one_piece(Session& session, std::byte* data, const Parts& bytes, std::byte* own, PlaceOf place_of,
                    const Call& call) {
  const auto& mine = part_of(bytes, session.index());
  if (mine.count > 0) kernel::copy(data + mine.offset, own, mine.count);
  RING_TRY(session.meet(call));
  for (int step = 1; step < session.size(); ++step) {
    const int member = (session.index() + step) % session.size();
    const auto& part = part_of(bytes, member);
    if (part.count > 0) kernel::copy(place_of(member), data + part.offset, part.count);
  }
  return {};
}

Status direct(Session& session, std::byte* data, const Parts& bytes, const Call& call) {
  for (int step = 1; step < session.size(); ++step) {
    const int member = (session.index() + step) % session.size();
    const auto& part = part_of(bytes, member);
    if (part.count == 0) continue;
    const std::byte* theirs = whole_at(session, member, offer_of(session, member).send, part.count);
    if (theirs == nullptr) return {Code::kInternal, call.what.name() + ": an impossible place in a window"};
    kernel::copy(theirs, data + part.offset, part.count);
  }
  return session.close(call);
}

// Everybody streams its own part through its slots.
class Stream {
 public:
  Stream(Session& session, std::byte* data, const Parts& bytes)
      : session_(session), data_(data), bytes_(bytes) {}

  Status run(bool met, const Call& call) {
    piece_ = session_.tuning().piece_bytes(plan::largest(bytes_), session_.group().slot_bytes());
    const std::uint64_t pieces = (plan::largest(bytes_) + piece_ - 1) / piece_;
    RING_TRY(session_.take_numbers(pieces, first_));
    RING_TRY(publish(0, call));
    if (!met) RING_TRY(session_.meet(call));
    for (std::uint64_t k = 0; k < pieces; ++k) {
      if (k + 1 < pieces) RING_TRY(publish(k + 1, call));
      RING_TRY(copy_out(k, call));
    }
    return {};
  }

 private:
  [[nodiscard]] Bytes piece_of(const std::byte* from, const plan::Part& part, std::uint64_t k) const {
    const std::uint64_t begin = std::min(part.count, k * piece_);
    return {from, std::min(part.count - begin, static_cast<std::uint64_t>(piece_))};
  }
  Status publish(std::uint64_t k, const Call& call) {
    const auto& part = part_of(bytes_, session_.index());
    const Bytes piece = piece_of(data_ + part.offset + k * piece_, part, k);
    if (piece.size == 0) return {};
    RING_TRY(session_.room_for(first_ + k, call));
    kernel::copy(piece.data, session_.group().slot(session_.index(), first_ + k), piece.size,
                 session_.tuning().slot_stores);
    session_.published(first_ + k);
    return {};
  }
  Status copy_out(std::uint64_t k, const Call& call) {
    for (int step = 1; step < session_.size(); ++step) {
      const int member = (session_.index() + step) % session_.size();
      const auto& part = part_of(bytes_, member);
      const Bytes piece = piece_of(session_.group().slot(member, first_ + k), part, k);
      if (piece.size == 0) continue;
      RING_TRY(session_.await_published(member, first_ + k, call));
      kernel::copy(piece.data, data_ + part.offset + k * piece_, piece.size);
    }
    session_.consumed(first_ + k);
    return {};
  }

  Session& session_;
  std::byte* data_;
  const Parts& bytes_;
  std::size_t piece_ = 0;
  std::uint64_t first_ = 0;
};

bool all_registered(const Session& session, const Parts& bytes) {
  for (int member = 0; member < session.size(); ++member) {
    if (part_of(bytes, member).count > 0 && offer_of(session, member).send.window == kNoWindow) return false;
  }
  return true;
}

}  // namespace

Status allgather(Session& session, std::byte* data, const Parts& bytes, const Call& call) {
  const std::uint64_t largest = plan::largest(bytes);
  if (largest <= shm::kPayload) {
    return in_one_piece(
        session, data, bytes, session.own_payload(), [&](int member) { return session.payload(member); },
        call);
  }
  if (largest <= shm::kOneShotBytes) {
    return in_one_piece(
        session, data, bytes, session.own_one_shot(), [&](int member) { return session.one_shot(member); },
        call);
  }
  const auto& mine = part_of(bytes, session.index());
  Offer offer;
  offer.send = whole_place(session, data + mine.offset, mine.count);
  put_offer(session, offer);
  const bool registered = offer.send.window != kNoWindow;
  if (registered) {
    RING_TRY(session.meet(call));
    if (all_registered(session, bytes)) return direct(session, data, bytes, call);
  }
  return Stream(session, data, bytes).run(registered, call);
}

}  // namespace ring::algo::local
