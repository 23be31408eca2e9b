// Backend: the collective seam, of one group of ranks. Implemented over host memory (HostBackend) and NCCL.
// Owner: the engine; only the thread that executes a collective calls it. Calls block until done, failed,
// interrupted or past their deadline; after any failure only `waited_for` and `close` may be called.
#pragma once

#include <cstddef>  // for byte
#include <cstdint>  // for uint64_t
#include <memory>   // for unique_ptr
#include <string>   // for string
#include <vector>   // for vector

#include "ring/backend/window.h"
#include "ring/base/bytes.h"
#include "ring/base/deadline.h"
#include "ring/base/dtype.h"
#include "ring/base/status.h"

namespace ring::backend {

// Bytes of an agreement header; part of the wire format.
inline constexpr std::size_t kHeaderBytes = 248;

// What a collective says about itself: equal bytes on all ranks that call the same. Sent ahead of the data on
// every link, so that ranks which call different collectives learn it instead of mixing up bytes.
class Agreement {
 public:
  Agreement() = default;
  Agreement(const Agreement&) = delete;
  Agreement& operator=(const Agreement&) = delete;
  virtual ~Agreement() = default;

  [[nodiscard]] virtual Bytes header() const = 0;  // kHeaderBytes of them
  [[nodiscard]] virtual std::uint64_t hash() const = 0;
  // "allreduce #3 'loss' (4 x float32, mean)"; built only for messages.
  [[nodiscard]] virtual std::string name() const = 0;
  // kMismatch that shows both sides and blames `world_rank` where `theirs` differs.
  [[nodiscard]] virtual Status compare(int world_rank, Bytes theirs) const = 0;
};

// What has been moved and waited for since the backend was made. Bytes of data on the wire: neither headers
// nor what ranks of one host give each other.
struct Meter {
  std::uint64_t wait_ns = 0;
  std::uint64_t reduce_ns = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
};

// `what` must outlive the call.
struct Call {
  const Agreement& what;
  double timeout_s;
  Deadline deadline = Deadline::after(timeout_s);
};

// The buffers, element type and rule of a reduction. `recv` may equal `send`.
struct Reduction {
  const std::byte* send;
  std::byte* recv;
  DType dtype;
  ReduceOp op;
  double prescale = 1;   // every rank's values are multiplied by it before they are reduced
  double postscale = 1;  // and the result by this
  // What float32 travels as between hosts: kFloat16 or kBFloat16 to halve the bytes, else `dtype`. Values
  // beyond its range become infinite, as in a cast, on all ranks alike; a mean is taken of what arrived.
  DType wire = dtype;
  // Where `wire` is narrower, sum and mean: what rounding lost is kept here and added to the next call's
  // values. As many elements as `send`, zero at first, kept by the caller. Null: it is lost.
  float* residual = nullptr;
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
  // The number of one of these ranks among all ranks of the run: what failures name.
  [[nodiscard]] virtual int world_rank(int rank) const noexcept = 0;
  // The host of a rank of the run.
  [[nodiscard]] virtual std::string host_of(int world_rank) const = 0;

  // The collectives of some of these ranks, numbered anew in the given order; null on a rank that is not
  // among them. All ranks of this group call it in the same order. Shares links and memory with this one,
  // which must outlive it.
  [[nodiscard]] virtual Result<std::unique_ptr<Backend>> split(const std::vector<int>& ranks,
                                                               const Call& call) = 0;

  [[nodiscard]] virtual Status allreduce(const Reduction& what, std::uint64_t count, const Call& call) = 0;
  // `send` holds the parts of all ranks; `recv` gets the own part, counts[rank] elements.
  [[nodiscard]] virtual Status reducescatter(const Reduction& what, const Counts& counts,
                                             const Call& call) = 0;
  // Byte counts by rank; `recv` gets all parts in rank order.
  [[nodiscard]] virtual Status allgather(Bytes send, std::byte* recv, const Counts& bytes,
                                         const Call& call) = 0;
  [[nodiscard]] virtual Status broadcast(MutableBytes buffer, int root, const Call& call) = 0;
  // `send` holds a part for each rank, `recv` gets one from each; byte counts by rank. May not overlap.
  [[nodiscard]] virtual Status alltoall(const std::byte* send, const Counts& send_bytes, std::byte* recv,
                                        const Counts& recv_bytes, const Call& call) = 0;
  [[nodiscard]] virtual Status barrier(const Call& call) = 0;
  [[nodiscard]] virtual const Meter& meter() const noexcept = 0;

  // Registered memory: what ranks of one host reduce in place. All ranks call these alike. Where it cannot be
  // had, all ranks of a host get kSystem or kInvalidArgument, and the group goes on. Without shared memory:
  // private memory, and nothing to adopt.
  [[nodiscard]] virtual Result<Window> allocate(std::size_t bytes, const Call& call);
  [[nodiscard]] virtual Result<Window> adopt(std::byte* address, std::size_t bytes, const Call& call);
  virtual void release(const Window& window);

  // The rank of the run that the last collective was waiting for when it failed; -1 for none.
  [[nodiscard]] virtual int waited_for() const noexcept = 0;
  virtual void close() noexcept = 0;
};

}  // namespace ring::backend
