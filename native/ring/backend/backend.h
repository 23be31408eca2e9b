// Backend: the collective seam. Implemented over links (HostBackend), later over NCCL.
// Owner and only caller: the engine's progress thread. Calls block until done, failed, interrupted or past
// their deadline; after any failure only `abort` and `close` may be called.
#pragma once

#include <cstddef>  // for byte
#include <cstdint>  // for uint64_t
#include <string>   // for string
#include <vector>   // for vector

#include "ring/base/bytes.h"
#include "ring/base/deadline.h"
#include "ring/base/dtype.h"
#include "ring/base/status.h"

namespace ring::backend {

// What is being called, for deadlines and messages.
struct Call {
  std::string name;  // "allreduce #3 'loss' (4 x float32, mean)"
  double timeout_s;
  Deadline deadline = Deadline::after(timeout_s);
};

// The buffers and element type of a reduction. `recv` may equal `send`.
struct Reduction {
  const std::byte* send;
  std::byte* recv;
  DType dtype;
  ReduceOp op;
};

using Counts = std::vector<std::uint64_t>;

class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  [[nodiscard]] virtual int rank() const noexcept = 0;
  [[nodiscard]] virtual int size() const noexcept = 0;
  [[nodiscard]] virtual std::string host_of(int rank) const = 0;

  [[nodiscard]] virtual Status allreduce(const Reduction& what, std::uint64_t count, const Call& call) = 0;
  // `send` holds the parts of all ranks; `recv` gets the own part, counts[rank] elements.
  [[nodiscard]] virtual Status reducescatter(const Reduction& what, const Counts& counts,
                                             const Call& call) = 0;
  // Byte counts by rank; `recv` gets all parts in rank order.
  [[nodiscard]] virtual Status allgather(Bytes send, std::byte* recv, const Counts& bytes,
                                         const Call& call) = 0;
  [[nodiscard]] virtual Status broadcast(MutableBytes buffer, int root, const Call& call) = 0;
  [[nodiscard]] virtual Status barrier(const Call& call) = 0;

  // Gives `mine` to both ring neighbours and gets theirs; all three are of one size.
  [[nodiscard]] virtual Status swap_headers(Bytes mine, MutableBytes previous, MutableBytes next,
                                            const Call& call) = 0;
  // Between collectives: waits until interrupted, a peer fails or the deadline passes.
  [[nodiscard]] virtual Status watch(Deadline deadline) = 0;

  // Tells every peer why this rank ends. Returns the cause as all ranks should name it: where a peer knows
  // better who is to blame for a time-out, that peer's view.
  [[nodiscard]] virtual Status abort(const Status& cause) = 0;
  // Leaves in order.
  virtual void close() noexcept = 0;
};

}  // namespace ring::backend
