// Operation: one submitted collective, and the check of its arguments. Plain values.
#pragma once

#include <cstddef>     // for byte
#include <cstdint>     // for uint8_t, uint64_t
#include <functional>  // for function
#include <string>      // for string

#include "ring/backend/backend.h"
#include "ring/backend/interrupt.h"
#include "ring/backend/work.h"
#include "ring/base/dtype.h"
#include "ring/base/status.h"

namespace ring::comm {

// Part of the wire format: append, never reorder.
enum class Kind : std::uint8_t {
  kAllreduce = 0,
  kBroadcast = 1,
  kAllgather = 2,
  kReducescatter = 3,
  kBarrier = 4
};

[[nodiscard]] const char* name_of(Kind kind) noexcept;

inline constexpr int kNoRoot = -1;

// What runs on the progress thread in place of the backend's own collective, in the same order on all ranks.
// Ends soon once the interrupt is raised.
using Body = std::function<Status(backend::Backend&, const backend::Interrupt&, const backend::Call&)>;

struct Operation {
  Kind kind = Kind::kBarrier;
  DType dtype = DType::kUint8;
  ReduceOp op = ReduceOp::kSum;
  int root = kNoRoot;
  const std::byte* send = nullptr;
  std::byte* recv = nullptr;
  backend::Counts counts;  // elements: by rank for allgather and reducescatter, else one number
  double timeout_s = 0;
  std::string label;
  Body body = nullptr;  // for buffers that are not host memory; `send` and `recv` are then only checked

  std::uint64_t sequence = 0;  // set by the engine
  backend::WorkPtr work = nullptr;
};

[[nodiscard]] bool reduces(Kind kind) noexcept;
[[nodiscard]] std::uint64_t total_count(const Operation& operation) noexcept;

// kInvalidArgument, saying what to give instead; the same for a world of one as for larger ones.
[[nodiscard]] Status check(const Operation& operation, int rank, int size);

}  // namespace ring::comm
