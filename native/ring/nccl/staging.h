// Staging: collectives on device memory by way of the host: device -> pinned chunks -> the host's backend ->
// device, the copies of neighbouring chunks at the same time. For ranks that share a device or have no NCCL.
// Owner: a device communicator; its calls are bodies on the engine's progress thread, one at a time.
#pragma once

#include <cstddef>     // for byte, size_t
#include <cstdint>     // for uint64_t
#include <functional>  // for function
#include <memory>      // for unique_ptr
#include <vector>      // for vector

#include "ring/backend/backend.h"
#include "ring/backend/interrupt.h"
#include "ring/base/status.h"
#include "ring/nccl/handles.h"

namespace ring::nccl {

class Staging {
 public:
  static constexpr std::size_t kSlotBytes = std::size_t{2} << 20;

  // `slot_bytes`: what one chunk may take, sent and received each; three of both are pinned.
  [[nodiscard]] static Result<std::unique_ptr<Staging>> make(DevicePtr device,
                                                             std::size_t slot_bytes = kSlotBytes);

  // What a call is given: the host ring, what stops it, and the events before and behind it on the device.
  struct Scene {
    backend::Backend& backend;
    const backend::Interrupt& interrupt;
    const backend::Call& call;
    EventHandle ready;  // the user's stream has come to this call
    EventHandle ended;  // recorded behind the last copy
  };
  // Buffers are device memory; else as the backend's own.
  [[nodiscard]] Status allreduce(const Scene& scene, const backend::Reduction& what, std::uint64_t count);
  [[nodiscard]] Status reducescatter(const Scene& scene, const backend::Reduction& what,
                                     const backend::Counts& counts);
  [[nodiscard]] Status allgather(const Scene& scene, const std::byte* send, std::byte* recv,
                                 const backend::Counts& bytes);
  [[nodiscard]] Status broadcast(const Scene& scene, std::byte* buffer, std::uint64_t bytes, int root);
  [[nodiscard]] Status alltoall(const Scene& scene, const std::byte* send, const backend::Counts& send_bytes,
                                std::byte* recv, const backend::Counts& recv_bytes);
  // Behind the last of several calls: nothing is moved.
  [[nodiscard]] Status finish(const Scene& scene);

 private:
  struct Slot {
    OwnedPinned sent;      // what comes down
    OwnedPinned received;  // what goes up
    OwnedEvent down;
    OwnedEvent up;
    bool used = false;
  };
  // A stretch of device memory that belongs to one chunk.
  struct Piece {
    std::byte* device;
    std::size_t bytes;
  };
  using Pieces = std::vector<Piece>;
  // One kind of collective, cut into `steps`.
  struct Pipeline {
    std::uint64_t steps;
    std::function<Pieces(std::uint64_t step)> down;  // laid out one behind the other in the slot
    std::function<Status(std::uint64_t step, std::byte* sent, std::byte* received)> ring;
    std::function<Pieces(std::uint64_t step)> up;
  };

  explicit Staging(DevicePtr device, std::size_t slot_bytes)
      : device_(std::move(device)), slot_bytes_(slot_bytes) {}
  [[nodiscard]] Status prepare();
  [[nodiscard]] Status run(const Scene& scene, const Pipeline& pipeline);
  [[nodiscard]] Status enter(const Scene& scene);
  [[nodiscard]] Status leave(const Scene& scene);
  [[nodiscard]] Status copy_down(const Scene& scene, Slot& slot, const Pieces& pieces);
  [[nodiscard]] Status copy_up(Slot& slot, const Pieces& pieces);
  [[nodiscard]] Status await(const Scene& scene, const OwnedEvent& event, const char* what);

  const DevicePtr device_;
  const std::size_t slot_bytes_;
  OwnedStream down_;
  OwnedStream up_;
  OwnedEvent
      last_;  // behind the last copy of the call before: nobody else orders two calls that are not waited for
  std::vector<Slot> slots_;
};

}  // namespace ring::nccl
