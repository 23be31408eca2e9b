// allreduce: in the lines, one-shot, through slots, or pushed between registered buffers.
#include <algorithm>  // for max, min
#include <cstring>    // for memcpy

#include "ring/algo/local/collectives.h"
#include "ring/algo/local/offer.h"
#include "ring/algo/local/pieces.h"
#include "ring/algo/local/push.h"

namespace ring::algo::local {
namespace {

using backend::Call;
using backend::Reduction;
using kernel::Scaling;

// Everybody reduces everything in the order of members, so all get the same bits.
void reduce_fetched(Session& session, const Reduction& what, const Scaling& scaling, std::uint64_t count) {
  const Reducer reducer{what.dtype, what.op, scaling};
  reducer.run(session.inputs().data(), session.size(), session.index(), what.recv, count);
}

Status in_lines(Session& session, const Reduction& what, const Scaling& scaling, std::uint64_t count,
                const Call& call) {
  if (count > 0) std::memcpy(session.own_payload(), what.send, count * size_of(what.dtype));
  RING_TRY(session.meet(call));
  if (count == 0) return {};
  for (int member = 0; member < session.size(); ++member) {
    session.inputs()[static_cast<std::size_t>(member)] = session.payload(member);
  }
  kernel::combine(what.dtype, what.op, session.inputs().data(), session.size(), what.recv, count, scaling);
  return {};
}

Status one_shot(Session& session, const Reduction& what, const Scaling& scaling, std::uint64_t count,
                const Call& call) {
  kernel::copy(what.send, session.own_one_shot(), count * size_of(what.dtype));
  RING_TRY(session.meet(call));
  for (int member = 0; member < session.size(); ++member) {
    session.inputs()[static_cast<std::size_t>(member)] =
        member == session.index() ? what.send : session.one_shot(member);
  }
  reduce_fetched(session, what, scaling, count);
  return {};
}

Status through_slots(Session& session, const Reduction& what, const Scaling& scaling, std::uint64_t count,
                     bool met, const Call& call) {
  const std::size_t element = size_of(what.dtype);
  const std::size_t piece = session.tuning().piece_bytes(count * element, session.group().slot_bytes());
  session.shares().cut_evenly(count, element, piece);
  const Reducer reducer{what.dtype, what.op, scaling};
  std::byte* own = what.recv + session.shares().of(session.index()).offset * element;
  return Pieces(session, reducer, {what.send, own, what.recv}).run(met, call);
}

}  // namespace

Status allreduce(Session& session, const Reduction& what, const Scaling& scaling, std::uint64_t count,
                 const Call& call) {
  const std::uint64_t bytes = count * size_of(what.dtype);
  if (bytes <= shm::kPayload) return in_lines(session, what, scaling, count, call);
  if (bytes <= session.tuning().one_shot_bytes) {
    return one_shot(session, what, scaling, count, call);
  }
  const Offer mine = offer_for_push(session, what, bytes);
  put_offer(session, mine);
  if (mine.send.window == kNoWindow) return through_slots(session, what, scaling, count, false, call);
  RING_TRY(session.meet(call));
  if (const auto range = pushable(session, mine, count, size_of(what.dtype))) {
    return push(session, what, scaling, count, *range, call);
  }
  return through_slots(session, what, scaling, count, true, call);
}

}  // namespace ring::algo::local
