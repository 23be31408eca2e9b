#include "ring/algo/local/registration.h"

#include <sys/mman.h>  // for mmap, munmap

#include <algorithm>  // for max
#include <cerrno>     // for errno
#include <cstring>    // for memcpy
#include <string>     // for to_string
#include <utility>    // for move

#include "ring/shm/adopt.h"
#include "ring/shm/memory.h"

namespace ring::algo::local {
namespace {

using backend::Call;

constexpr std::uint64_t kLeastAdopted = std::uint64_t{64} << 10;

// What each member says of its part.
struct Part {
  std::uint64_t ok = 0;
  std::uint64_t segment_offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};
static_assert(sizeof(Part) <= shm::kPayload);

Result<Window> private_window(std::size_t bytes) {
  const std::size_t length = shm::round_up(std::max<std::size_t>(bytes, 1), shm::kPage);
  void* memory = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return Status::system("memory of " + std::to_string(bytes) + " bytes", errno);
  std::shared_ptr<const void> keeps(memory, [length](void* mapped) { ::munmap(mapped, length); });
  return Window{static_cast<std::byte*>(memory), bytes, false, 0, std::move(keeps)};
}

// Tells the others of the own part and learns theirs. The own failure comes back first.
Status exchange(Session& session, const Part& mine, const Status& own, Held& held, const Call& call) {
  std::memcpy(session.own_payload(), &mine, sizeof mine);
  RING_TRY(session.meet(call));
  RING_TRY(own);
  for (int member = 0; member < session.size(); ++member) {
    Part part;
    std::memcpy(&part, session.payload(member), sizeof part);
    if (part.ok == 0) {
      return {Code::kSystem, "rank " + std::to_string(session.rank_of(member)) + " cannot share this memory",
              session.rank_of(member)};
    }
    const auto& group = session.group();
    std::byte* shared =
        part.end < part.begin
            ? nullptr
            : group.seat()->window(group.seat_of(member), part.segment_offset, part.end - part.begin);
    if (shared == nullptr) return {Code::kInternal, "a window outside of its rank's memory"};
    held.sides.push_back({part.segment_offset, part.begin, part.end, shared});
  }
  for (const auto& side : held.sides) shm::populate(side.shared, side.end - side.begin);
  return {};
}

Window window_of(Session& session, Held held) {
  Window window{held.address, held.bytes, held.adopted, 0, session.group().seat()->segment()->mapping()};
  window.number = session.windows().add(std::move(held));
  return window;
}

// The whole pages of the buffer, shared.
Status share_pages(Session& session, std::byte* address, std::size_t bytes, Part& part, Held& held) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  part.bytes = bytes;
  part.begin = shm::round_up(at, shm::kPage) - at;
  part.end = (at + bytes) / shm::kPage * shm::kPage - at;
  if (bytes < kLeastAdopted) {
    return {Code::kInvalidArgument, "a buffer of " + std::to_string(bytes) +
                                        " bytes is too small to be shared in place; from 64 KB on it can be"};
  }
  RING_TRY(shm::check_adoptable(address, bytes));
  const std::uint64_t length = part.end - part.begin;
  held.claim = shm::Claim::of(address + part.begin, length);
  if (held.claim == nullptr) {
    return {Code::kInvalidArgument, "a part of this memory is shared in place already: release that first"};
  }
  auto& seat = *session.group().seat();
  const auto offset = seat.take(length);
  if (!offset) return offset.status();
  const auto& segment = *seat.segment();
  const Status put = shm::put_beneath(segment.fd(), offset.value(), segment.base() + offset.value(),
                                      address + part.begin, length);
  if (!put) {
    seat.give(offset.value(), length);
    return put;
  }
  part.segment_offset = offset.value();
  part.ok = 1;
  return {};
}

void unshare_pages(Session& session, std::byte* address, const Held::Side& side) {
  auto& seat = *session.group().seat();
  const std::uint64_t length = side.end - side.begin;
  std::byte* pages = address + side.begin;
  if (shm::is_mapped_from(pages, length, seat.segment()->fd(), side.segment_offset)) {
    if (!shm::take_from_beneath(pages, length)) return;  // it stays usable; its pages live as long as it does
  }
  seat.give(side.segment_offset, length);
}

}  // namespace

Result<Window> allocate(Session& session, std::size_t bytes, const Call& call) {
  if (session.group().seat() == nullptr) return private_window(bytes);
  auto& seat = *session.group().seat();
  const auto offset = seat.take(bytes);
  Part part{offset.is_ok() ? 1U : 0U, 0, bytes, 0, bytes};
  Held held{nullptr, bytes, false, {}, nullptr};
  if (offset) {
    part.segment_offset = offset.value();
    held.address = seat.segment()->base() + offset.value();
  }
  const Status agreed = exchange(session, part, offset.status(), held, call);
  if (agreed) return window_of(session, std::move(held));
  if (offset) seat.give(offset.value(), bytes);
  return agreed;
}

Result<Window> adopt(Session& session, std::byte* address, std::size_t bytes, const Call& call) {
  if (session.group().seat() == nullptr) return Window{address, bytes, true, 0, nullptr};
  Part part;
  Held held{address, bytes, true, {}, nullptr};
  const Status own = share_pages(session, address, bytes, part, held);
  const Status agreed = exchange(session, part, own, held, call);
  if (agreed) return window_of(session, std::move(held));
  if (part.ok != 0) unshare_pages(session, address, {part.segment_offset, part.begin, part.end, nullptr});
  return agreed;
}

void release(Session& session, const Window& window) {
  const auto held = session.windows().remove(window.number);
  if (!held) return;
  const auto& side = held->sides[static_cast<std::size_t>(session.index())];
  if (held->adopted) return unshare_pages(session, held->address, side);
  session.group().seat()->give(side.segment_offset, held->bytes);
}

}  // namespace ring::algo::local
