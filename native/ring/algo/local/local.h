// Local: the collectives among the ranks of one host, over the memory they share. One object per group of
// ranks; every member calls the same in the same order, with equal sizes where they are shared by all.
// Owner: HostBackend; executing thread only. A failed call ends the group, but for windows.
//
// Blocks until done, interrupted (kAborted), a member has left (kPeerLost), members disagree (kMismatch) or
// the call's deadline has passed (kCollectiveTimeout, blaming the member that is behind).
#pragma once

#include <cstddef>  // for byte, size_t
#include <cstdint>  // for uint64_t
#include <memory>   // for unique_ptr
#include <vector>   // for vector

#include "ring/algo/local/window.h"
#include "ring/backend/backend.h"
#include "ring/backend/interrupt.h"
#include "ring/base/bytes.h"
#include "ring/base/status.h"
#include "ring/kernel/reduce.h"
#include "ring/plan/parts.h"
#include "ring/shm/group.h"
#include "ring/shm/waiter.h"

namespace ring::algo {

namespace local {
class Session;
}

// Settings for benchmarks and tests; alike on all members.
struct LocalSettings {
  bool use_windows = true;
  bool probe = true;                                    // measure the kind of stores; else:
  kernel::Stores slot_stores = kernel::Stores::kPlain;  // into slots
  std::size_t one_shot_bytes = 0;                       // allreduce; 0: by the number of ranks
  std::size_t least_piece_bytes = 0;                    // through slots; 0: the default
  kernel::Stores push_stores = kernel::Stores::kPlain;  // into registered buffers of others
};

struct LocalStats {
  shm::WaitCounts waits;
  std::uint64_t stale_windows = 0;  // uses of an adopted buffer that turned out to be no longer shared
  kernel::Stores slot_stores = kernel::Stores::kPlain;
};

class Local {
 public:
  // `ranks`: by index in the group, for messages. Interrupt and meter must outlive this.
  Local(shm::LocalGroup group, std::vector<int> ranks, backend::Interrupt& interrupt, backend::Meter& meter,
        const LocalSettings& settings = {});
  Local(Local&&) noexcept;
  ~Local();

  // `recv` may equal `send`. The same bits on all members.
  [[nodiscard]] Status allreduce(const backend::Reduction& what, const kernel::Scaling& scaling,
                                 std::uint64_t count, const backend::Call& call);
  // Parts by index: any disjoint ranges of `what.send`, in elements; the own one is left in `out`. `wide`: in
  // the accumulator's type, without post and divisor.
  [[nodiscard]] Status reducescatter(const backend::Reduction& what, const kernel::Scaling& scaling,
                                     const plan::Parts& parts, bool wide, std::byte* out,
                                     const backend::Call& call);
  // Parts by index: disjoint ranges of `data`, in bytes; the own one is in place.
  [[nodiscard]] Status allgather(std::byte* data, const plan::Parts& bytes, const backend::Call& call);
  [[nodiscard]] Status broadcast(MutableBytes buffer, int root_index, const backend::Call& call);
  // Parts by index, in bytes. What i sends to j is as long as what j receives from i. No overlap.
  [[nodiscard]] Status alltoall(const std::byte* send, const plan::Parts& send_bytes, std::byte* recv,
                                const plan::Parts& recv_bytes, const backend::Call& call);
  [[nodiscard]] Status barrier(const backend::Call& call);

  // Registered memory. Where it cannot be had all members get kSystem or kInvalidArgument, and the group
  // goes on; anything else ends it. `adopt`: nobody may write to that memory meanwhile.
  [[nodiscard]] Result<Window> allocate(std::size_t bytes, const backend::Call& call);
  [[nodiscard]] Result<Window> adopt(std::byte* address, std::size_t bytes, const backend::Call& call);
  // In the same order on all members. An allocated window's memory may not be touched any more.
  void release(const Window& window);

  // The rank that the last collective was waiting for when it failed; -1 for none.
  [[nodiscard]] int waited_for() const noexcept;
  [[nodiscard]] LocalStats stats() const;

 private:
  template <typename Body>
  [[nodiscard]] Status run(std::uint64_t bytes, const backend::Call& call, Body body);
  [[nodiscard]] Status prepare(std::uint64_t bytes, const backend::Call& call);
  [[nodiscard]] bool alone() const noexcept;

  std::unique_ptr<local::Session> session_;
  bool opened_ = false;
};

}  // namespace ring::algo
