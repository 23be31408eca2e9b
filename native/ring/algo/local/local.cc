#include "ring/algo/local/local.h"

#include <algorithm>  // for min
#include <cstring>    // for memmove
#include <utility>    // for move

#include "ring/algo/local/collectives.h"
#include "ring/algo/local/opening.h"
#include "ring/algo/local/registration.h"

namespace ring::algo {

using backend::Call;
using backend::Reduction;
using kernel::Scaling;

Local::Local(shm::LocalGroup group, std::vector<int> ranks, backend::Interrupt& interrupt,
             backend::Meter& meter, const LocalSettings& settings)
    : session_(std::make_unique<local::Session>(std::move(group), std::move(ranks), interrupt, meter)) {
  auto& tuning = session_->tuning();
  tuning.use_windows = settings.use_windows;
  tuning.may_probe = settings.probe;
  tuning.slot_stores = settings.slot_stores;
  tuning.push_stores = settings.push_stores;
  tuning.one_shot_bytes = std::min(settings.one_shot_bytes, shm::kOneShotBytes);
  if (settings.least_piece_bytes > 0) tuning.least_piece_bytes = settings.least_piece_bytes;
}

Local::Local(Local&&) noexcept = default;
Local::~Local() = default;

int Local::waited_for() const noexcept {
  return session_->waited_for();
}

bool Local::alone() const noexcept {
  return session_->size() == 1;
}

Status Local::prepare(std::uint64_t bytes, const Call& call) {
  if (!opened_) {
    opened_ = true;
    RING_TRY(local::open(*session_, call));
  }
  const auto& tuning = session_->tuning();
  if (bytes < local::Tuning::kProbeBytes || tuning.probed || !tuning.may_probe) return {};
  return local::probe(*session_, call);
}

template <typename Body>
Status Local::run(std::uint64_t bytes, const Call& call, Body body) {
  if (!opened_ || bytes >= local::Tuning::kProbeBytes) RING_TRY(prepare(bytes, call));
  const std::uint64_t waited = session_->waiter().counts().wait_ns;
  const Status status = body(*session_);
  session_->meter().wait_ns += session_->waiter().counts().wait_ns - waited;
  return status;
}

Status Local::allreduce(const Reduction& what, const Scaling& scaling, std::uint64_t count,
                        const Call& call) {
  if (alone()) {
    if (count > 0) kernel::combine(what.dtype, what.op, &what.send, 1, what.recv, count, scaling);
    return {};
  }
  return run(count * size_of(what.dtype), call,
             [&](local::Session& session) { return local::allreduce(session, what, scaling, count, call); });
}

Status Local::reducescatter(const Reduction& what, const Scaling& scaling, const plan::Parts& parts,
                            bool wide, std::byte* out, const Call& call) {
  const std::size_t element = size_of(what.dtype);
  if (alone()) {
    const std::byte* send = what.send + parts[0].offset * element;
    if (parts[0].count == 0) return {};
    if (wide) {
      kernel::combine_wide(what.dtype, what.op, &send, 1, out, parts[0].count, scaling.pre);
    } else {
      kernel::combine(what.dtype, what.op, &send, 1, out, parts[0].count, scaling);
    }
    return {};
  }
  return run(plan::largest(parts) * element, call, [&](local::Session& session) {
    return local::reducescatter(session, {what, scaling, parts, wide, out}, call);
  });
}

Status Local::allgather(std::byte* data, const plan::Parts& bytes, const Call& call) {
  if (alone()) return {};
  return run(plan::largest(bytes), call,
             [&](local::Session& session) { return local::allgather(session, data, bytes, call); });
}

Status Local::broadcast(MutableBytes buffer, int root_index, const Call& call) {
  if (alone()) return {};
  return run(buffer.size, call,
             [&](local::Session& session) { return local::broadcast(session, buffer, root_index, call); });
}

Status Local::alltoall(const std::byte* send, const plan::Parts& send_bytes, std::byte* recv,
                       const plan::Parts& recv_bytes, const Call& call) {
  if (alone()) {
    const std::uint64_t bytes = std::min(send_bytes[0].count, recv_bytes[0].count);
    if (bytes > 0) std::memmove(recv + recv_bytes[0].offset, send + send_bytes[0].offset, bytes);
    return {};
  }
  return run(0, call, [&](local::Session& session) {  // sizes differ by member: no common moment for a probe
    return local::alltoall(session, {send, send_bytes, recv, recv_bytes}, call);
  });
}

Status Local::barrier(const Call& call) {
  if (alone()) return {};
  return run(0, call, [&](local::Session& session) { return session.meet(call); });
}

Result<Window> Local::allocate(std::size_t bytes, const Call& call) {
  if (!alone()) RING_TRY(prepare(0, call));
  return local::allocate(*session_, bytes, call);
}

Result<Window> Local::adopt(std::byte* address, std::size_t bytes, const Call& call) {
  if (!alone()) RING_TRY(prepare(0, call));
  return local::adopt(*session_, address, bytes, call);
}

void Local::release(const Window& window) {
  local::release(*session_, window);
}

LocalStats Local::stats() const {
  return {session_->waiter().counts(), session_->windows().stale(), session_->tuning().slot_stores};
}

}  // namespace ring::algo
