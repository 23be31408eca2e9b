// Offer: what a member says about its buffers when it comes to a meeting. Plain value, fits a line's payload.
#pragma once

#include <cstdint>      // for uint64_t
#include <cstring>      // for memcpy
#include <type_traits>  // for is_trivially_copyable_v

#include "ring/algo/local/session.h"
#include "ring/algo/local/windows.h"
#include "ring/shm/layout.h"

namespace ring::algo::local {

struct Offer {
  Place send;
  Place recv;
  std::uint64_t most = 0;  // alltoall: the bytes of its largest part
};
static_assert(sizeof(Offer) <= shm::kPayload && std::is_trivially_copyable_v<Offer>);

inline void put_offer(Session& session, const Offer& offer) {
  std::memcpy(session.own_payload(), &offer, sizeof offer);
}

// Where others can read all of a buffer; no window where they cannot.
[[nodiscard]] inline Place whole_place(Session& session, const std::byte* data, std::uint64_t bytes) {
  if (session.windows().empty() || !session.tuning().use_windows) return {};
  const Place place = session.windows().find(data, bytes);
  const auto reach = session.windows().reach(session.index(), place, bytes);
  return reach && reach->begin == 0 && reach->end == bytes ? place : Place{};
}

// `bytes` of a member's buffer from `place` on; null where its owner said something impossible.
[[nodiscard]] inline const std::byte* whole_at(const Session& session, int member, const Place& place,
                                               std::uint64_t bytes) {
  const auto reach = session.windows().reach(member, place, bytes);
  return reach && reach->begin == 0 && reach->end == bytes ? reach->origin : nullptr;
}

[[nodiscard]] inline Offer offer_of(const Session& session, int member) {
  Offer offer;
  std::memcpy(&offer, session.payload(member), sizeof offer);
  return offer;
}

}  // namespace ring::algo::local
