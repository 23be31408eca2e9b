#include "ring/algo/local/push.h"

#include <algorithm>  // for max, min
#include <cstring>    // for memcpy

#include "ring/algo/local/reducer.h"
#include "ring/algo/local/stopwatch.h"

namespace ring::algo::local {
namespace {

using backend::Reduction;
using kernel::Scaling;

constexpr std::uint64_t kEdgeBytes = shm::kPage;  // more than what of an adopted buffer is private at one end

bool is_adopted(const Session& session, const Offer& offer) {
  const Held* send = session.windows().held(offer.send.window);
  const Held* recv = session.windows().held(offer.recv.window);
  return (send != nullptr && send->adopted) || (recv != nullptr && recv->adopted);
}

// Both ends, whatever is shared of them: what others need of it depends on their pages too.
void copy_edges(Session& session, const std::byte* send, std::uint64_t bytes) {
  kernel::copy(send, session.own_one_shot(), kEdgeBytes);
  kernel::copy(send + bytes - kEdgeBytes, session.own_one_shot() + kEdgeBytes, kEdgeBytes);
}

std::optional<Range> common_range(const Session& session, std::uint64_t count, std::size_t element) {
  const std::uint64_t bytes = count * element;
  std::uint64_t begin = 0;
  std::uint64_t end = bytes;
  for (int member = 0; member < session.size(); ++member) {
    const Offer offer = offer_of(session, member);
    for (const Place& place : {offer.send, offer.recv}) {
      const auto reach = session.windows().reach(member, place, bytes);
      if (!reach) return std::nullopt;
      begin = std::max(begin, reach->begin);
      end = std::min(end, reach->end);
    }
  }
  const Range range{shm::round_up(begin, element) / element, end / element};
  const bool edges_fit = range.begin * element <= kEdgeBytes && bytes - range.end * element <= kEdgeBytes;
  if (range.begin >= range.end || !edges_fit) return std::nullopt;
  return range;
}

std::byte* origin_of(const Session& session, int member, const Place& place, std::uint64_t bytes) {
  return session.windows().reach(member, place, bytes)->origin;
}

// The private ends, which each member reduces for itself from what all have copied.
void reduce_edge(Session& session, const Reduction& what, const Scaling& scaling, Range edge,
                 std::uint64_t place_in_slot) {
  if (edge.begin >= edge.end) return;
  for (int member = 0; member < session.size(); ++member) {
    session.inputs()[static_cast<std::size_t>(member)] = session.one_shot(member) + place_in_slot;
  }
  kernel::combine(what.dtype, what.op, session.inputs().data(), session.size(),
                  what.recv + edge.begin * size_of(what.dtype), edge.end - edge.begin, scaling);
}

void push_share(Session& session, const Reduction& what, const Scaling& scaling, std::uint64_t bytes,
                Range share) {
  const std::size_t element = size_of(what.dtype);
  const int own = session.index();
  for (int member = 0; member < session.size(); ++member) {
    session.inputs()[static_cast<std::size_t>(member)] =
        origin_of(session, member, offer_of(session, member).send, bytes) + share.begin * element;
  }
  std::byte* out = what.recv + share.begin * element;
  const Offer mine = offer_of(session, own);
  const bool in_place = mine.send.window == mine.recv.window && mine.send.offset == mine.recv.offset;
  const Reducer reducer{what.dtype, what.op, scaling};
  reducer.run(session.inputs().data(), session.size(), own, out, share.end - share.begin, in_place,
              [&](std::size_t at, std::size_t length) {
                for (int step = 1; step < session.size(); ++step) {
                  const int member = (own + step) % session.size();
                  std::byte* theirs = origin_of(session, member, offer_of(session, member).recv, bytes);
                  kernel::copy(out + at * element, theirs + (share.begin + at) * element, length * element,
                               session.tuning().push_stores);
                }
              });
}

}  // namespace

Offer offer_for_push(Session& session, const Reduction& what, std::uint64_t bytes) {
  if (session.windows().empty() || !session.tuning().use_windows) return {};
  Offer offer;
  offer.send = session.windows().find(what.send, bytes);
  if (offer.send.window == kNoWindow) return {};
  offer.recv = what.recv == what.send ? offer.send : session.windows().find(what.recv, bytes);
  if (offer.recv.window == kNoWindow) return {};
  if (is_adopted(session, offer)) copy_edges(session, what.send, bytes);
  return offer;
}

std::optional<Range> pushable(const Session& session, const Offer& mine, std::uint64_t count,
                              std::size_t element_bytes) {
  for (int member = 0; member < session.size(); ++member) {
    const Offer theirs = offer_of(session, member);
    if (theirs.send.window != mine.send.window || theirs.recv.window != mine.recv.window) return std::nullopt;
  }
  return common_range(session, count, element_bytes);
}

Status push(Session& session, const Reduction& what, const Scaling& scaling, std::uint64_t count,
            const Range& range, const backend::Call& call) {
  const std::size_t element = size_of(what.dtype);
  const std::uint64_t bytes = count * element;
  {
    const Stopwatch watch(session.meter().reduce_ns);
    session.shares().cut_evenly(range.end - range.begin, element, session.group().slot_bytes());
    const Share& share = session.shares().of(session.index());
    const std::uint64_t begin = range.begin + share.offset;
    if (share.count > 0) push_share(session, what, scaling, bytes, {begin, begin + share.count});
    reduce_edge(session, what, scaling, {0, range.begin}, 0);
    reduce_edge(session, what, scaling, {range.end, count}, 2 * kEdgeBytes - (count - range.end) * element);
  }
  return session.close(call);
}

}  // namespace ring::algo::local
