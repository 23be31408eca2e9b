// The CUDA driver interface, opened at run time as a table of functions, and what is known of one device.
// Driver is immutable once open, hence any thread may use it. Declared by hand: no CUDA header is needed.
#pragma once

#include <array>    // for array
#include <cstddef>  // for size_t
#include <cstdint>  // for uint64_t
#include <memory>   // for shared_ptr
#include <string>   // for string
#include <utility>  // for move
#include <vector>   // for vector

#include "ring/base/status.h"
#include "ring/nccl/dynamic.h"

namespace ring::nccl {

struct OpaqueContext;
using Context = OpaqueContext*;
struct OpaqueEvent;
using EventHandle = OpaqueEvent*;
struct OpaqueStream;
using StreamHandle = OpaqueStream*;
using DevicePointer = std::uint64_t;
using Uuid = std::array<unsigned char, 16>;

inline constexpr int kCudaSuccess = 0;
inline constexpr int kCudaNotReady = 600;
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventDisableTiming = 2;
inline constexpr unsigned kHostPortable = 1;
inline constexpr int kPointerDeviceOrdinal = 9;

#define RING_CUDA_FUNCTIONS(REQUIRED, OPTIONAL)                                            \
  REQUIRED(init, cuInit, (unsigned))                                                       \
  REQUIRED(driver_version, cuDriverGetVersion, (int*))                                     \
  REQUIRED(error_name, cuGetErrorName, (int, const char**))                                \
  REQUIRED(error_string, cuGetErrorString, (int, const char**))                            \
  REQUIRED(device_count, cuDeviceGetCount, (int*))                                         \
  REQUIRED(device_get, cuDeviceGet, (int*, int))                                           \
  REQUIRED(device_name, cuDeviceGetName, (char*, int, int))                                \
  REQUIRED(device_uuid, cuDeviceGetUuid, (Uuid*, int))                                     \
  REQUIRED(device_pci, cuDeviceGetPCIBusId, (char*, int, int))                             \
  REQUIRED(retain_context, cuDevicePrimaryCtxRetain, (Context*, int))                      \
  REQUIRED(release_context, cuDevicePrimaryCtxRelease_v2, (int))                           \
  REQUIRED(push_context, cuCtxPushCurrent_v2, (Context))                                   \
  REQUIRED(pop_context, cuCtxPopCurrent_v2, (Context*))                                    \
  REQUIRED(stream_priorities, cuCtxGetStreamPriorityRange, (int*, int*))                   \
  REQUIRED(stream_create, cuStreamCreateWithPriority, (StreamHandle*, unsigned, int))      \
  REQUIRED(stream_destroy, cuStreamDestroy_v2, (StreamHandle))                             \
  REQUIRED(stream_wait, cuStreamWaitEvent, (StreamHandle, EventHandle, unsigned))          \
  REQUIRED(event_create, cuEventCreate, (EventHandle*, unsigned))                          \
  REQUIRED(event_record, cuEventRecord, (EventHandle, StreamHandle))                       \
  REQUIRED(event_query, cuEventQuery, (EventHandle))                                       \
  REQUIRED(event_destroy, cuEventDestroy_v2, (EventHandle))                                \
  REQUIRED(copy, cuMemcpyAsync, (DevicePointer, DevicePointer, std::size_t, StreamHandle)) \
  REQUIRED(alloc, cuMemAlloc_v2, (DevicePointer*, std::size_t))                            \
  REQUIRED(free, cuMemFree_v2, (DevicePointer))                                            \
  REQUIRED(host_alloc, cuMemHostAlloc, (void**, std::size_t, unsigned))                    \
  REQUIRED(host_free, cuMemFreeHost, (void*))                                              \
  REQUIRED(pointer_attribute, cuPointerGetAttribute, (void*, int, DevicePointer))          \
  OPTIONAL(device_uuid_v2, cuDeviceGetUuid_v2, (Uuid*, int))                               \
  OPTIONAL(is_capturing, cuStreamIsCapturing, (StreamHandle, int*))                        \
  OPTIONAL(exchange_capture_mode, cuThreadExchangeStreamCaptureMode, (int*))               \
  OPTIONAL(host_register, cuMemHostRegister_v2, (void*, std::size_t, unsigned))            \
  OPTIONAL(host_unregister, cuMemHostUnregister, (void*))

struct CudaApi {
#define RING_CUDA_FIELD(field, symbol, parameters) int(*field) parameters = nullptr;
  RING_CUDA_FUNCTIONS(RING_CUDA_FIELD, RING_CUDA_FIELD)
#undef RING_CUDA_FIELD
};

class Driver {
 public:
  // `path`: a file that a setting names, else what is loaded already or the loader finds. Initialises CUDA.
  [[nodiscard]] static Result<std::shared_ptr<const Driver>> open(const std::string& path);

  [[nodiscard]] const CudaApi& api() const noexcept { return api_; }
  [[nodiscard]] const std::string& path() const noexcept { return file_.path(); }
  [[nodiscard]] int version() const noexcept { return version_; }
  [[nodiscard]] int num_devices() const noexcept { return num_devices_; }
  // The device whose memory this is; -1 when it belongs to none.
  [[nodiscard]] int device_of(DevicePointer pointer) const noexcept;
  // Ok for success, else kSystem: `what`, the name and text of the code, and what to do about it.
  [[nodiscard]] Status check(int code, const std::string& what) const;

 private:
  explicit Driver(Dynamic file) : file_(std::move(file)) {}
  [[nodiscard]] Status bind();
  [[nodiscard]] Status start();

  Dynamic file_;
  CudaApi api_;
  int version_ = 0;
  int num_devices_ = 0;
};

// One device and its primary context, which is the one that frameworks use. Any thread may use it.
class Device {
 public:
  [[nodiscard]] static Result<std::shared_ptr<const Device>> open(std::shared_ptr<const Driver> driver,
                                                                  int ordinal);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device();

  [[nodiscard]] const CudaApi& api() const noexcept { return driver_->api(); }
  [[nodiscard]] Status check(int code, const std::string& what) const;
  [[nodiscard]] int ordinal() const noexcept { return ordinal_; }
  [[nodiscard]] const Uuid& uuid() const noexcept { return uuid_; }
  [[nodiscard]] const std::string& pci() const noexcept { return pci_; }
  // "cuda:0 (NVIDIA H100, 0000:3b:00.0)"
  [[nodiscard]] std::string describe() const;
  [[nodiscard]] Context context() const noexcept { return context_; }
  // True in a child made by fork, where CUDA cannot be used and everything is the parent's.
  [[nodiscard]] bool is_forked() const noexcept;

 private:
  Device(std::shared_ptr<const Driver> driver, int ordinal);
  [[nodiscard]] Status look();

  std::shared_ptr<const Driver> driver_;
  int ordinal_;
  int handle_ = -1;
  Uuid uuid_{};
  std::string name_;
  std::string pci_;
  Context context_ = nullptr;
  unsigned forks_;
};

// Makes a device current in this thread for a scope, and what was current before current again after it.
class Current {
 public:
  explicit Current(const Device& device)
      : api_(device.api()), pushed_(api_.push_context(device.context()) == 0) {}
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  ~Current() {
    Context before = nullptr;
    if (pushed_) api_.pop_context(&before);
  }

 private:
  const CudaApi& api_;
  bool pushed_;
};

}  // namespace ring::nccl
