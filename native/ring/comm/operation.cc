#include "ring/comm/operation.h"

#include <cmath>    // for isfinite
#include <cstdint>  // for int64_t
#include <numeric>  // for accumulate
#include <string>   // for string, to_string

namespace ring::comm {
namespace {

using backend::Counts;

// Half the address space: no buffer is larger, and sums of two stay in range.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 62;

Status refuse(const Operation& operation, const std::string& why) {
  return {Code::kInvalidArgument, std::string(name_of(operation.kind)) + ": " + why};
}

bool is_by_rank(Kind kind) {
  return kind == Kind::kAllgather || kind == Kind::kReducescatter || kind == Kind::kAlltoall;
}

Status check_dtype(const Operation& operation, DType dtype) {
  if (static_cast<int>(dtype) >= kNumDTypes) {
    return refuse(operation, "unknown dtype code " + std::to_string(static_cast<int>(dtype)));
  }
  if (reduces(operation.kind) && !is_reducible(dtype)) {
    const std::string instead = dtype == DType::kBool ? "cast to uint8 and use min (all), max (any) or sum"
                                                      : "cast to float16, bfloat16 or float32";
    return refuse(operation, std::string(name_of(dtype)) + " cannot be reduced; " + instead);
  }
  return Status::ok();
}

Status check_types(const Operation& operation) {
  if (operation.kind != Kind::kGroupedAllreduce) RING_TRY(check_dtype(operation, operation.dtype));
  for (const auto& member : operation.members) RING_TRY(check_dtype(operation, member.dtype));
  if (reduces(operation.kind) && static_cast<int>(operation.op) >= kNumReduceOps) {
    return refuse(operation, "unknown op code " + std::to_string(static_cast<int>(operation.op)));
  }
  return Status::ok();
}

Status check_scaling(const Operation& operation, DType dtype) {
  if (operation.prescale == 1 && operation.postscale == 1) return Status::ok();
  if (!std::isfinite(operation.prescale) || !std::isfinite(operation.postscale)) {
    return refuse(operation, "prescale and postscale must be finite");
  }
  if (is_floating(dtype)) return Status::ok();
  return refuse(operation, std::string(name_of(dtype)) +
                               " cannot be scaled: the products would be rounded to integers; cast to a "
                               "floating type, or scale by hand");
}

Status check_change(const Operation& operation) {
  if (!reduces(operation.kind)) return Status::ok();
  for (const auto& member : operation.members) RING_TRY(check_scaling(operation, member.dtype));
  if (operation.kind == Kind::kGroupedAllreduce) return Status::ok();
  RING_TRY(check_scaling(operation, operation.dtype));
  if (wire_of(operation) == operation.dtype) return Status::ok();
  const bool is_half = wire_of(operation) == DType::kFloat16 || wire_of(operation) == DType::kBFloat16;
  if (operation.dtype == DType::kFloat32 && is_half) return Status::ok();
  return refuse(operation, std::string(name_of(operation.dtype)) + " cannot travel as " +
                               name_of(wire_of(operation)) + ": only float32 can, as float16 or bfloat16");
}

// The ranks of a new group: known ones, each once.
Status check_ranks(const Operation& operation, int size) {
  if (operation.counts.empty()) return refuse(operation, "needs at least one rank");
  std::vector<bool> taken(static_cast<std::size_t>(size));
  for (const auto rank : operation.counts) {
    if (rank >= taken.size()) {
      return refuse(operation, "rank " + std::to_string(static_cast<std::int64_t>(rank)) + " is outside 0.." +
                                   std::to_string(size - 1));
    }
    if (taken[rank]) return refuse(operation, "rank " + std::to_string(rank) + " is given twice");
    taken[rank] = true;
  }
  return Status::ok();
}

Status check_count(const Operation& operation, std::uint64_t count, DType dtype, std::uint64_t& left_bytes) {
  if (count > left_bytes / size_of(dtype)) {
    return refuse(operation, "a count of " + std::to_string(count) + " is too large");
  }
  left_bytes -= count * size_of(dtype);
  return Status::ok();
}

Status check_by_rank(const Operation& operation, const Counts& counts, int size) {
  if (counts.size() != static_cast<std::size_t>(size)) {
    return refuse(operation, "needs one count for each of " + std::to_string(size) + " ranks, got " +
                                 std::to_string(counts.size()));
  }
  std::uint64_t left = kMostBytes;
  for (const auto count : counts) RING_TRY(check_count(operation, count, operation.dtype, left));
  return Status::ok();
}

Status check_counts(const Operation& operation, int rank, int size) {
  std::uint64_t left = kMostBytes;
  for (const auto& member : operation.members)
    RING_TRY(check_count(operation, member.count, member.dtype, left));
  if (operation.kind == Kind::kGroupedAllreduce) return Status::ok();
  if (!is_by_rank(operation.kind)) return check_count(operation, operation.count, operation.dtype, left);
  RING_TRY(check_by_rank(operation, operation.counts, size));
  if (operation.kind != Kind::kAlltoall) return Status::ok();
  RING_TRY(check_by_rank(operation, operation.recv_counts, size));
  const auto own = static_cast<std::size_t>(rank);
  if (operation.counts[own] == operation.recv_counts[own]) return Status::ok();
  return refuse(operation,
                "what rank " + std::to_string(rank) + " sends to itself differs in the two counts");
}

std::uint64_t sum(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

Status check_memory(const Operation& operation, const Member& memory, std::uint64_t received) {
  if (memory.count > 0 && memory.send == nullptr) return refuse(operation, "the buffer to send is null");
  if (received > 0 && memory.recv == nullptr) return refuse(operation, "the buffer to receive into is null");
  return Status::ok();
}

Status check_buffers(const Operation& operation, int rank) {
  for (const auto& member : operation.members) RING_TRY(check_memory(operation, member, member.count));
  if (operation.kind == Kind::kGroupedAllreduce) return Status::ok();
  const auto total = operation.count + sum(operation.counts);
  const auto own = is_by_rank(operation.kind) ? operation.counts[static_cast<std::size_t>(rank)] : total;
  std::uint64_t received = operation.kind == Kind::kReducescatter ? own : total;
  if (operation.kind == Kind::kAlltoall) received = sum(operation.recv_counts);
  const auto sent = operation.kind == Kind::kAllgather ? own : total;
  return check_memory(operation, {operation.send, operation.recv, sent, operation.dtype}, received);
}

}  // namespace

const char* name_of(Kind kind) noexcept {
  switch (kind) {
    case Kind::kAllreduce:
      return "allreduce";
    case Kind::kBroadcast:
      return "broadcast";
    case Kind::kAllgather:
      return "allgather";
    case Kind::kReducescatter:
      return "reducescatter";
    case Kind::kBarrier:
      return "barrier";
    case Kind::kAlltoall:
      return "alltoall";
    case Kind::kGroupedAllreduce:
      return "grouped allreduce";
    case Kind::kNewGroup:
      return "new group";
    case Kind::kAllocate:
      return "allocate";
    case Kind::kAdopt:
      return "adopt";
    case Kind::kRelease:
      return "release";
  }
  return "unknown collective";
}

bool reduces(Kind kind) noexcept {
  return kind == Kind::kAllreduce || kind == Kind::kReducescatter || kind == Kind::kGroupedAllreduce;
}

std::uint64_t total_count(const Operation& operation) noexcept {
  if (operation.kind == Kind::kAlltoall) return 0;
  if (operation.kind == Kind::kNewGroup) return operation.counts.size();
  std::uint64_t total = operation.count + sum(operation.counts);
  for (const auto& member : operation.members) total += member.count;
  return total;
}

std::uint64_t payload_bytes(const Operation& operation) noexcept {
  if (operation.kind == Kind::kNewGroup) return 0;
  std::uint64_t bytes = (operation.count + sum(operation.counts)) * size_of(operation.dtype);
  for (const auto& member : operation.members) bytes += member.count * size_of(member.dtype);
  return bytes;
}

Status check(const Operation& operation, int rank, int size) {
  if (!(operation.timeout_s > 0)) return refuse(operation, "timeout_s must be above 0");  // refuses NaN too
  if (operation.kind == Kind::kBarrier) return Status::ok();
  if (operation.kind == Kind::kNewGroup) return check_ranks(operation, size);
  if (has_body(operation.kind)) return Status::ok();
  RING_TRY(check_types(operation));
  RING_TRY(check_change(operation));
  RING_TRY(check_counts(operation, rank, size));
  if (operation.kind == Kind::kBroadcast && (operation.root < 0 || operation.root >= size)) {
    return refuse(operation,
                  "root " + std::to_string(operation.root) + " is not a rank of " + std::to_string(size));
  }
  return check_buffers(operation, rank);
}

}  // namespace ring::comm
