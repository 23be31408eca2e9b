// Owners of what a device hands out: streams, events, pinned memory. Move-only; one thread at a time each.
#pragma once

#include <cstddef>  // for byte, size_t
#include <memory>   // for shared_ptr
#include <utility>  // for exchange, move

#include "ring/nccl/cuda.h"

namespace ring::nccl {

using DevicePtr = std::shared_ptr<const Device>;

// Owns one handle of a device; `Destroy` names the field of the function table that frees it.
template <typename Handle, auto Destroy>
class Owned {
 public:
  Owned() = default;
  Owned(DevicePtr device, Handle handle) : device_(std::move(device)), handle_(handle) {}
  Owned(Owned&& other) noexcept
      : device_(std::move(other.device_)), handle_(std::exchange(other.handle_, {})) {}
  Owned& operator=(Owned&& other) noexcept {
    if (this != &other) {
      reset();
      device_ = std::move(other.device_);
      handle_ = std::exchange(other.handle_, {});
    }
    return *this;
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { reset(); }

  [[nodiscard]] Handle get() const noexcept { return handle_; }

 private:
  void reset() noexcept {
    if (handle_ == Handle{} || device_->is_forked()) return;
    const Current current(*device_);
    (device_->api().*Destroy)(handle_);
    handle_ = {};
  }
  DevicePtr device_;
  Handle handle_{};
};

using OwnedStream = Owned<StreamHandle, &CudaApi::stream_destroy>;
using OwnedEvent = Owned<EventHandle, &CudaApi::event_destroy>;
using OwnedMemory = Owned<DevicePointer, &CudaApi::free>;
using OwnedPinned = Owned<void*, &CudaApi::host_free>;

// A stream that does not wait for the legacy default stream, of the highest priority, so that collectives are
// not queued behind the kernels they overlap with.
[[nodiscard]] inline Result<OwnedStream> make_stream(const DevicePtr& device) {
  const Current current(*device);
  int least = 0;
  int greatest = 0;
  RING_TRY(device->check(device->api().stream_priorities(&least, &greatest), "cuCtxGetStreamPriorityRange"));
  StreamHandle handle = nullptr;
  RING_TRY(device->check(device->api().stream_create(&handle, kStreamNonBlocking, greatest),
                         "cuStreamCreateWithPriority"));
  return OwnedStream(device, handle);
}

[[nodiscard]] inline Result<OwnedEvent> make_event(const DevicePtr& device) {
  const Current current(*device);
  EventHandle handle = nullptr;
  RING_TRY(device->check(device->api().event_create(&handle, kEventDisableTiming), "cuEventCreate"));
  return OwnedEvent(device, handle);
}

[[nodiscard]] inline Result<OwnedMemory> make_memory(const DevicePtr& device, std::size_t bytes) {
  const Current current(*device);
  DevicePointer pointer = 0;
  RING_TRY(device->check(device->api().alloc(&pointer, bytes), "cuMemAlloc"));
  return OwnedMemory(device, pointer);
}

[[nodiscard]] inline Result<OwnedPinned> make_pinned(const DevicePtr& device, std::size_t bytes) {
  const Current current(*device);
  void* pointer = nullptr;
  RING_TRY(device->check(device->api().host_alloc(&pointer, bytes, kHostPortable),
                         "cuMemHostAlloc of " + std::to_string(bytes) + " bytes"));
  return OwnedPinned(device, pointer);
}

}  // namespace ring::nccl
