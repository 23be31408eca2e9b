// The collectives as NCCL calls on one stream. Each returns once all of it is queued on the device.
// Owner: whoever owns the group; one caller at a time.
#pragma once

#include <cstddef>   // for byte
#include <cstdint>   // for uint64_t
#include <optional>  // for optional
#include <string>    // for string
#include <vector>    // for vector

#include "ring/backend/backend.h"
#include "ring/base/deadline.h"
#include "ring/base/dtype.h"
#include "ring/nccl/group.h"

namespace ring::nccl {

// The type NCCL reduces by; nothing where it has none or not the exactness that is promised (integer means,
// 16-bit integers, bool, 8-bit floats): such reductions are staged through the host.
[[nodiscard]] std::optional<DataType> reducible_as(DType dtype, ReduceOp op);

// Scales and means. Rule: NCCL multiplies each input by one factor, prescale * postscale (/ n for a mean),
// rounded to the element type, before it sums: a finite mean does not overflow on its way, a factor that is a
// power of two loses nothing. Halves are summed in halves.
[[nodiscard]] double factor_of(const backend::Reduction& what, int size);
// kInvalidArgument for a factor where there can be none, or that the element type cannot hold.
[[nodiscard]] Status check_factor(const backend::Reduction& what, int size);

// One call: what for people, when to give up, the stream to queue on.
struct Launch {
  const std::string& name;
  Deadline deadline;
  StreamHandle stream;
};

using backend::Counts;

// Any number of them, each with its count, as one launch.
[[nodiscard]] Group::Fault allreduce(Group& group, const std::vector<backend::Reduction>& what,
                                     const Counts& counts, const Launch& launch);
// `send` holds the parts of all ranks, `recv` takes the own part (which it may be). Uneven parts: one reduce
// each.
[[nodiscard]] Group::Fault reducescatter(Group& group, const backend::Reduction& what, const Counts& counts,
                                         const Launch& launch);
// Bytes by rank. Uneven parts: one broadcast each. `send` may be the own part of `recv`.
[[nodiscard]] Group::Fault allgather(Group& group, const std::byte* send, std::byte* recv,
                                     const Counts& bytes, const Launch& launch);
[[nodiscard]] Group::Fault broadcast(Group& group, std::byte* buffer, std::uint64_t bytes, int root,
                                     const Launch& launch);
// Bytes by rank; nothing is sent for 0, on either side.
[[nodiscard]] Group::Fault alltoall(Group& group, const std::byte* send, const Counts& send_bytes,
                                    std::byte* recv, const Counts& recv_bytes, const Launch& launch);
// Passes on the device of each rank once it was called by all. `token`: a byte of device memory.
[[nodiscard]] Group::Fault barrier(Group& group, std::byte* token, const Launch& launch);

}  // namespace ring::nccl
