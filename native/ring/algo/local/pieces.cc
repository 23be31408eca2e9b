#include "ring/algo/local/pieces.h"

#include "ring/algo/local/stopwatch.h"

namespace ring::algo::local {

Status Pieces::run(bool met, const backend::Call& call) {
  const std::uint64_t pieces = session_.shares().pieces();
  RING_TRY(session_.take_numbers(pieces, first_));
  if (pieces > 0) RING_TRY(publish(0, call));
  if (!met) RING_TRY(session_.meet(call));
  for (std::uint64_t k = 0; k < pieces; ++k) {
    if (k + 1 < pieces) RING_TRY(publish(k + 1, call));
    RING_TRY(reduce(k, call));
    if (buffers_.all != nullptr && k > 0) RING_TRY(copy_out(k - 1, call));
  }
  if (buffers_.all != nullptr && pieces > 0) RING_TRY(copy_out(pieces - 1, call));
  return {};
}

Status Pieces::publish(std::uint64_t k, const backend::Call& call) {
  RING_TRY(session_.room_for(first_ + k, call));
  std::byte* slot = session_.group().slot(session_.index(), first_ + k);
  for (int member = 0; member < session_.size(); ++member) {
    const Share& share = session_.shares().of(member);
    const std::uint64_t begin = share.begin(k);
    const std::uint64_t count = share.end(k) - begin;
    if (member == session_.index() || count == 0) continue;
    kernel::copy(buffers_.send + (share.offset + begin) * element_, slot + share.place, count * element_,
                 session_.tuning().slot_stores);
  }
  session_.published(first_ + k);
  return {};
}

Status Pieces::reduce(std::uint64_t k, const backend::Call& call) {
  for (int member = 0; member < session_.size(); ++member) {
    if (member != session_.index()) RING_TRY(session_.await_published(member, first_ + k, call));
  }
  reduce_share(k);
  session_.consumed(first_ + k);
  return {};
}

void Pieces::reduce_share(std::uint64_t k) {
  const Share& share = session_.shares().of(session_.index());
  const std::uint64_t begin = share.begin(k);
  const std::uint64_t count = share.end(k) - begin;
  if (count == 0) return;
  const Stopwatch watch(session_.meter().reduce_ns);
  auto& inputs = session_.inputs();
  for (int member = 0; member < session_.size(); ++member) {
    inputs[static_cast<std::size_t>(member)] = member == session_.index()
                                                   ? buffers_.send + (share.offset + begin) * element_
                                                   : session_.group().slot(member, first_ + k) + share.place;
  }
  std::byte* out = buffers_.own_out + begin * reducer_.out_bytes();
  if (buffers_.all == nullptr) {
    reducer_.run(inputs.data(), session_.size(), session_.index(), out, count);
    return;
  }
  std::byte* result = session_.group().slot(session_.index(), first_ + k) + share.place;
  reducer_.run(inputs.data(), session_.size(), session_.index(), out, count, false,
               [&](std::size_t at, std::size_t length) {
                 kernel::copy(out + at * element_, result + at * element_, length * element_,
                              session_.tuning().slot_stores);
               });
}

Status Pieces::copy_out(std::uint64_t k, const backend::Call& call) {
  for (int step = 1; step < session_.size(); ++step) {
    const int member = (session_.index() + step) % session_.size();
    const Share& share = session_.shares().of(member);
    const std::uint64_t begin = share.begin(k);
    const std::uint64_t count = share.end(k) - begin;
    if (count == 0) continue;
    RING_TRY(session_.await_consumed(member, first_ + k, call));
    kernel::copy(session_.group().slot(member, first_ + k) + share.place,
                 buffers_.all + (share.offset + begin) * element_, count * element_);
  }
  return {};
}

}  // namespace ring::algo::local
