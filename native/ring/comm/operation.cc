#include "ring/comm/operation.h"

#include <numeric>  // for accumulate

namespace ring::comm {
namespace {

// Half the address space: no buffer is larger, and sums of two stay in range.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 62;

Status refuse(const Operation& operation, const std::string& why) {
  return {Code::kInvalidArgument, std::string(name_of(operation.kind)) + ": " + why};
}

Status check_types(const Operation& operation) {
  if (static_cast<int>(operation.dtype) >= kNumDTypes) {
    return refuse(operation, "unknown dtype code " + std::to_string(static_cast<int>(operation.dtype)));
  }
  if (!reduces(operation.kind)) return Status::ok();
  if (static_cast<int>(operation.op) >= kNumReduceOps) {
    return refuse(operation, "unknown op code " + std::to_string(static_cast<int>(operation.op)));
  }
  if (!is_reducible(operation.dtype)) {
    const std::string instead = operation.dtype == DType::kBool
                                    ? "cast to uint8 and use min (all), max (any) or sum"
                                    : "cast to float16, bfloat16 or float32";
    return refuse(operation, std::string(name_of(operation.dtype)) + " cannot be reduced; " + instead);
  }
  return Status::ok();
}

Status check_counts(const Operation& operation, int size) {
  const bool by_rank = operation.kind == Kind::kAllgather || operation.kind == Kind::kReducescatter;
  const auto wanted = static_cast<std::size_t>(by_rank ? size : 1);
  if (operation.counts.size() != wanted) {
    return refuse(operation, "needs one count for each of " + std::to_string(wanted) + " ranks, got " +
                                 std::to_string(operation.counts.size()));
  }
  std::uint64_t left = kMostBytes / size_of(operation.dtype);
  for (const auto count : operation.counts) {
    if (count > left) return refuse(operation, "a count of " + std::to_string(count) + " is too large");
    left -= count;
  }
  return Status::ok();
}

Status check_buffers(const Operation& operation, int rank) {
  const bool by_rank = operation.kind == Kind::kAllgather || operation.kind == Kind::kReducescatter;
  const auto own = by_rank ? operation.counts[static_cast<std::size_t>(rank)] : total_count(operation);
  const auto sent = operation.kind == Kind::kAllgather ? own : total_count(operation);
  const auto received = operation.kind == Kind::kReducescatter ? own : total_count(operation);
  if (sent > 0 && operation.send == nullptr) return refuse(operation, "the buffer to send is null");
  if (received > 0 && operation.recv == nullptr)
    return refuse(operation, "the buffer to receive into is null");
  return Status::ok();
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
  }
  return "unknown collective";
}

bool reduces(Kind kind) noexcept {
  return kind == Kind::kAllreduce || kind == Kind::kReducescatter;
}

std::uint64_t total_count(const Operation& operation) noexcept {
  return std::accumulate(operation.counts.begin(), operation.counts.end(), std::uint64_t{0});
}

Status check(const Operation& operation, int rank, int size) {
  if (!(operation.timeout_s > 0)) return refuse(operation, "timeout_s must be above 0");  // refuses NaN too
  if (operation.kind == Kind::kBarrier) return Status::ok();
  RING_TRY(check_types(operation));
  RING_TRY(check_counts(operation, size));
  if (operation.kind == Kind::kBroadcast && (operation.root < 0 || operation.root >= size)) {
    return refuse(operation,
                  "root " + std::to_string(operation.root) + " is not a rank of " + std::to_string(size));
  }
  return check_buffers(operation, rank);
}

}  // namespace ring::comm
