// Operation: one collective as its caller asked for it, and the check of its arguments. Plain values that
// look at the caller's memory.
#pragma once

#include <cstddef>      // for byte
#include <cstdint>      // for uint8_t, uint64_t
#include <functional>   // for function
#include <optional>     // for optional
#include <string>       // for string
#include <string_view>  // for string_view
#include <vector>       // for vector

#include "ring/backend/backend.h"
#include "ring/backend/interrupt.h"
#include "ring/base/dtype.h"
#include "ring/base/status.h"

namespace ring::comm {

// Part of the wire format: append, never reorder.
enum class Kind : std::uint8_t {
  kAllreduce = 0,
  kBroadcast = 1,
  kAllgather = 2,
  kReducescatter = 3,
  kBarrier = 4,
  kAlltoall = 5,
  kGroupedAllreduce = 6,
  kNewGroup = 7,
  kAllocate = 8,
  kAdopt = 9,
  kRelease = 10,
};
inline constexpr int kNumKinds = 11;

[[nodiscard]] const char* name_of(Kind kind) noexcept;

inline constexpr int kNoRoot = -1;

// What runs in place of the backend's own collective, in the same order on all ranks.
// Ends soon once the interrupt is raised.
using Body = std::function<Status(backend::Backend&, const backend::Interrupt&, const backend::Call&)>;

// Text that the caller keeps until the call returns.
class Label : public std::string_view {
 public:
  Label() = default;
  Label(const char* text) : std::string_view(text) {}         // NOLINT: implicit by design
  Label(std::string_view text) : std::string_view(text) {}    // NOLINT: implicit by design
  Label(const std::string& text) : std::string_view(text) {}  // NOLINT: implicit by design
  Label(std::string&&) = delete;                              // it would be gone
};

// One array of a grouped allreduce.
struct Member {
  const std::byte* send = nullptr;
  std::byte* recv = nullptr;
  std::uint64_t count = 0;
  DType dtype = DType::kUint8;
};

// No heap memory but for counts by rank and members.
struct Operation {
  Kind kind = Kind::kBarrier;
  DType dtype = DType::kUint8;
  ReduceOp op = ReduceOp::kSum;
  int root = kNoRoot;
  const std::byte* send = nullptr;
  std::byte* recv = nullptr;
  std::uint64_t count = 0;  // elements: allreduce and broadcast
  double prescale = 1;
  double postscale = 1;
  std::optional<DType> wire;  // what float32 travels as between hosts; none: as it is
  float* residual = nullptr;
  backend::Counts
      counts;  // elements by rank: allgather, reducescatter, what alltoall sends; new group: its ranks
  backend::Counts recv_counts;  // elements by rank: what alltoall receives
  std::vector<Member> members;  // grouped allreduce
  double timeout_s = 0;
  Label label;
  Body body = nullptr;  // for buffers that are not host memory; `send` and `recv` are then only checked

  std::uint64_t sequence = 0;  // set by the engine
  std::uint32_t group = 0;     // likewise
};

// What only its own body can do.
[[nodiscard]] constexpr bool has_body(Kind kind) noexcept {
  return kind >= Kind::kNewGroup;
}
[[nodiscard]] bool reduces(Kind kind) noexcept;
[[nodiscard]] inline DType wire_of(const Operation& operation) noexcept {
  return operation.wire.value_or(operation.dtype);
}
// Elements that all ranks agree on; 0 where they need not (alltoall).
[[nodiscard]] std::uint64_t total_count(const Operation& operation) noexcept;
// Bytes of the caller's data, for statistics.
[[nodiscard]] std::uint64_t payload_bytes(const Operation& operation) noexcept;

// kInvalidArgument, saying what to give instead; the same for a world of one as for larger ones.
[[nodiscard]] Status check(const Operation& operation, int rank, int size);

}  // namespace ring::comm
