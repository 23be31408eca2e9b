#include "ring/comm/group.h"

#include <cstring>  // for memcpy

namespace ring::comm {
namespace {

// Members up to here travel together: copying them costs less than a collective of their own.
constexpr std::size_t kFuseBytes = 256 * 1024;

backend::Counts in_bytes(const backend::Counts& counts, DType dtype) {
  backend::Counts bytes = counts;
  for (auto& count : bytes) count *= size_of(dtype);
  return bytes;
}

std::size_t bytes_of(const Member& member) {
  return member.count * size_of(member.dtype);
}

// Where the run of neighbours ends that share a buffer with `first`.
std::size_t end_of_run(const std::vector<Member>& members, std::size_t first) {
  std::size_t total = 0;
  std::size_t last = first;
  while (last < members.size() && members[last].dtype == members[first].dtype) {
    total += bytes_of(members[last]);
    if (last > first && total > kFuseBytes) break;
    ++last;
  }
  return last;
}

backend::Reduction reduction_of(const Operation& operation, const Member& member) {
  return {member.send,        member.recv,         member.dtype, operation.op,
          operation.prescale, operation.postscale, member.dtype, nullptr};
}

void copy_bytes(std::byte* to, const std::byte* from, std::size_t size) {
  if (size > 0) std::memcpy(to, from, size);
}

}  // namespace

Status Group::execute(const Operation& operation, const backend::Interrupt& interrupt,
                      const Deadline& deadline) {
  const Fingerprint mine(operation, *backend_);
  const backend::Call call{mine, operation.timeout_s, deadline};
  if (!operation.body) return dispatch(operation, call);
  RING_TRY(backend_->barrier(call));  // the ranks agree on what they call before a body runs
  return operation.body(*backend_, interrupt, call);
}

backend::Meter Group::take_meter() {
  const backend::Meter& now = backend_->meter();
  const backend::Meter spent{now.wait_ns - metered_.wait_ns, now.reduce_ns - metered_.reduce_ns,
                             now.sent_bytes - metered_.sent_bytes,
                             now.received_bytes - metered_.received_bytes};
  metered_ = now;
  return spent;
}

Status Group::dispatch(const Operation& operation, const backend::Call& call) {
  const backend::Reduction reduction{operation.send,     operation.recv,     operation.dtype,
                                     operation.op,       operation.prescale, operation.postscale,
                                     wire_of(operation), operation.residual};
  switch (operation.kind) {
    case Kind::kAllreduce:
      return backend_->allreduce(reduction, operation.count, call);
    case Kind::kReducescatter:
      return backend_->reducescatter(reduction, operation.counts, call);
    case Kind::kBroadcast:
      return backend_->broadcast(MutableBytes(operation.recv, operation.count * size_of(operation.dtype)),
                                 operation.root, call);
    case Kind::kAllgather:
      return allgather(operation, call);
    case Kind::kAlltoall:
      return alltoall(operation, call);
    case Kind::kGroupedAllreduce:
      return allreduce_members(operation, call);
    case Kind::kBarrier:
      return backend_->barrier(call);
    case Kind::kNewGroup:
    case Kind::kAllocate:
    case Kind::kAdopt:
    case Kind::kRelease:
      break;  // these have one
  }
  return {Code::kInternal, "a collective without a body"};
}

Status Group::allgather(const Operation& operation, const backend::Call& call) {
  const auto bytes = in_bytes(operation.counts, operation.dtype);
  const Bytes send(operation.send, bytes[static_cast<std::size_t>(rank_)]);
  return backend_->allgather(send, operation.recv, bytes, call);
}

Status Group::alltoall(const Operation& operation, const backend::Call& call) {
  return backend_->alltoall(operation.send, in_bytes(operation.counts, operation.dtype), operation.recv,
                            in_bytes(operation.recv_counts, operation.dtype), call);
}

Status Group::allreduce_members(const Operation& operation, const backend::Call& call) {
  const auto& members = operation.members;
  for (std::size_t first = 0; first < members.size();) {
    const std::size_t last = end_of_run(members, first);
    if (last - first > 1) {
      RING_TRY(allreduce_fused(operation, first, last, call));
    } else {
      const auto& one = members[first];
      RING_TRY(backend_->allreduce(reduction_of(operation, one), one.count, call));
    }
    first = last;
  }
  return Status::ok();
}

Status Group::allreduce_fused(const Operation& operation, std::size_t first, std::size_t last,
                              const backend::Call& call) {
  std::size_t total = 0;
  for (std::size_t i = first; i < last; ++i) total += bytes_of(operation.members[i]);
  if (fused_.size() < total) fused_.resize(total);
  std::size_t offset = 0;
  for (std::size_t i = first; i < last; ++i) {
    copy_bytes(fused_.data() + offset, operation.members[i].send, bytes_of(operation.members[i]));
    offset += bytes_of(operation.members[i]);
  }
  const DType dtype = operation.members[first].dtype;
  const Member all{fused_.data(), fused_.data(), total / size_of(dtype), dtype};
  RING_TRY(backend_->allreduce(reduction_of(operation, all), all.count, call));
  offset = 0;
  for (std::size_t i = first; i < last; ++i) {
    copy_bytes(operation.members[i].recv, fused_.data() + offset, bytes_of(operation.members[i]));
    offset += bytes_of(operation.members[i]);
  }
  return Status::ok();
}

}  // namespace ring::comm
