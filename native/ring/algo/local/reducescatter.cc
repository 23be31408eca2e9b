// reducescatter: in the lines, one-shot, through slots, or straight from registered buffers.
#include <algorithm>  // for max, min

#include "ring/algo/local/collectives.h"
#include "ring/algo/local/offer.h"
#include "ring/algo/local/pieces.h"
#include "ring/algo/local/stopwatch.h"

namespace ring::algo::local {
namespace {

using backend::Call;

std::uint64_t extent(const plan::Parts& parts) {
  std::uint64_t end = 0;
  for (const auto& part : parts) end = std::max(end, part.offset + part.count);
  return end;
}

// Everybody publishes all parts, one behind the other, in `place`, which each reads at the others'.
template <typename PlaceOf>
Status in_one_piece(Session& session, const Scatter& scatter, const Reducer& reducer, std::byte* own,
                    PlaceOf place_of, const Call& call) {
  const std::size_t element = size_of(reducer.dtype);
  for (int member = 0; member < session.size(); ++member) {
    const Share& share = session.shares().of(member);
    if (share.count == 0) continue;
    kernel::copy(scatter.what.send + share.offset * element, own + share.place, share.count * element);
  }
  RING_TRY(session.meet(call));
  const Share& share = session.shares().of(session.index());
  if (share.count == 0) return {};
  for (int member = 0; member < session.size(); ++member) {
    session.inputs()[static_cast<std::size_t>(member)] = member == session.index()
                                                             ? scatter.what.send + share.offset * element
                                                             : place_of(member) + share.place;
  }
  reducer.run(session.inputs().data(), session.size(), session.index(), scatter.out, share.count);
  return {};
}

bool all_registered(const Session& session) {
  for (int member = 0; member < session.size(); ++member) {
    if (offer_of(session, member).send.window == kNoWindow) return false;
  }
  return true;
}

Status direct(Session& session, const Scatter& scatter, const Reducer& reducer, const Call& call) {
  const std::size_t element = size_of(reducer.dtype);
  const std::uint64_t bytes = extent(scatter.parts) * element;
  const auto& part = scatter.parts[static_cast<std::size_t>(session.index())];
  for (int member = 0; member < session.size(); ++member) {
    const std::byte* send = whole_at(session, member, offer_of(session, member).send, bytes);
    if (send == nullptr) return {Code::kInternal, call.what.name() + ": an impossible place in a window"};
    session.inputs()[static_cast<std::size_t>(member)] = send + part.offset * element;
  }
  if (part.count > 0) {
    const Stopwatch watch(session.meter().reduce_ns);
    reducer.run(session.inputs().data(), session.size(), session.index(), scatter.out, part.count);
  }
  return session.close(call);
}

}  // namespace

Status reducescatter(Session& session, const Scatter& scatter, const Call& call) {
  const std::size_t element = size_of(scatter.what.dtype);
  const Reducer reducer{scatter.what.dtype, scatter.what.op, scatter.scaling, scatter.wide};
  const std::size_t packed = session.shares().pack(scatter.parts, element);
  if (packed <= shm::kPayload) {
    return in_one_piece(
        session, scatter, reducer, session.own_payload(), [&](int member) { return session.payload(member); },
        call);
  }
  if (packed <= shm::kOneShotBytes) {
    return in_one_piece(
        session, scatter, reducer, session.own_one_shot(),
        [&](int member) { return session.one_shot(member); }, call);
  }
  Offer offer;
  offer.send = whole_place(session, scatter.what.send, extent(scatter.parts) * element);
  put_offer(session, offer);
  const bool registered = offer.send.window != kNoWindow;
  if (registered) {
    RING_TRY(session.meet(call));
    if (all_registered(session)) return direct(session, scatter, reducer, call);
  }
  session.shares().cut(scatter.parts, element,
                       session.tuning().piece_bytes(packed, session.group().slot_bytes()));
  return Pieces(session, reducer, {scatter.what.send, scatter.out, nullptr}).run(registered, call);
}

}  // namespace ring::algo::local
