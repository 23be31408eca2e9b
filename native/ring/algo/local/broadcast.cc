// broadcast: in the root's line, one-shot, through the root's slots, or straight from its registered buffer.
#include <algorithm>  // for min
#include <cstring>    // for memcpy

#include "ring/algo/local/collectives.h"
#include "ring/algo/local/offer.h"

namespace ring::algo::local {
namespace {

using backend::Call;

class Stream {
 public:
  Stream(Session& session, MutableBytes buffer, int root)
      : session_(session),
        buffer_(buffer),
        root_(root),
        piece_(session.tuning().piece_bytes(buffer.size, session.group().slot_bytes())) {}

  // The root publishes all it can before the others have come; a root that has slots in use waits for them.
  Status send(const Call& call) {
    RING_TRY(session_.take_numbers(pieces(), first_));
    session_.consumed(first_ + pieces() - 1);  // it reads nobody's
    RING_TRY(publish(0, call));
    RING_TRY(session_.meet(call));
    for (std::uint64_t k = 1; k < pieces(); ++k) RING_TRY(publish(k, call));
    return {};
  }

  Status receive(const Call& call) {
    RING_TRY(session_.take_numbers(pieces(), first_));
    for (std::uint64_t k = 0; k < pieces(); ++k) {
      RING_TRY(session_.await_published(root_, first_ + k, call));
      kernel::copy(session_.group().slot(root_, first_ + k), buffer_.data + k * piece_, size_of_piece(k));
      session_.consumed(first_ + k);
    }
    return {};
  }

 private:
  [[nodiscard]] std::uint64_t pieces() const { return (buffer_.size + piece_ - 1) / piece_; }
  [[nodiscard]] std::size_t size_of_piece(std::uint64_t k) const {
    return std::min<std::size_t>(piece_, buffer_.size - k * piece_);
  }
  Status publish(std::uint64_t k, const Call& call) {
    RING_TRY(session_.room_for(first_ + k, call));
    kernel::copy(buffer_.data + k * piece_, session_.group().slot(root_, first_ + k), size_of_piece(k),
                 session_.tuning().slot_stores);
    session_.published(first_ + k);
    return {};
  }

  Session& session_;
  MutableBytes buffer_;
  int root_;
  std::size_t piece_;
  std::uint64_t first_ = 0;
};

Status as_root(Session& session, MutableBytes buffer, const Call& call) {
  Offer offer;
  offer.send = whole_place(session, buffer.data, buffer.size);
  put_offer(session, offer);
  if (offer.send.window == kNoWindow) return Stream(session, buffer, session.index()).send(call);
  RING_TRY(session.meet(call));
  return session.close(call);
}

Status as_other(Session& session, MutableBytes buffer, int root, const Call& call) {
  RING_TRY(session.meet(call));
  const Offer offer = offer_of(session, root);
  if (offer.send.window == kNoWindow) return Stream(session, buffer, root).receive(call);
  const std::byte* theirs = whole_at(session, root, offer.send, buffer.size);
  if (theirs == nullptr) return {Code::kInternal, call.what.name() + ": an impossible place in a window"};
  kernel::copy(theirs, buffer.data, buffer.size);
  return session.close(call);
}

}  // namespace

Status broadcast(Session& session, MutableBytes buffer, int root, const Call& call) {
  const bool is_root = session.index() == root;
  if (buffer.size > shm::kOneShotBytes) {
    return is_root ? as_root(session, buffer, call) : as_other(session, buffer, root, call);
  }
  const bool in_line = buffer.size <= shm::kPayload;
  if (is_root && buffer.size > 0) {
    kernel::copy(buffer.data, in_line ? session.own_payload() : session.own_one_shot(), buffer.size);
  }
  RING_TRY(session.meet(call));
  if (is_root || buffer.size == 0) return {};
  kernel::copy(in_line ? session.payload(root) : session.one_shot(root), buffer.data, buffer.size);
  return {};
}

}  // namespace ring::algo::local
