// A CUDA driver over host memory, for tests: the functions of libcuda.so.1 that are used here, with streams
// as threads. FAKE_CUDA_DEVICES is the number of devices, FAKE_CUDA_MIG=1 makes them parts of one,
// FAKE_CUDA_DELAY_US slows every copy and kernel, FAKE_CUDA_FAIL fails calls ("cuMemHostAlloc:1:2"),
// FAKE_CUDA_CAPTURING=1 says that streams are being captured.
#include <unistd.h>  // for getpid, usleep

#include <cstdlib>  // for malloc, free
#include <cstring>  // for memcpy, strncpy

#include "fake_nccl/machine.h"

namespace {

using namespace fake;

constexpr int kOk = 0;
constexpr int kInvalidValue = 1;
constexpr int kNotInitialized = 3;
constexpr int kInvalidDevice = 101;
constexpr int kInvalidContext = 201;
constexpr int kNotReady = 600;

// Stays until the process ends: threads of streams may outlive what is destroyed at exit.
struct State {
  Machine machine;
  Injection injection{"FAKE_CUDA_FAIL"};
  pid_t pid = ::getpid();
};
State& state() {
  static State* const only = new State;
  return *only;
}

std::vector<Context*>& current() {
  thread_local std::vector<Context*> stack;
  return stack;
}

struct StreamHandle {
  std::shared_ptr<Queue> queue;
};
struct EventHandle {
  std::shared_ptr<Event> event = std::make_shared<Event>();
};

int checked(const char* symbol) {
  if (state().pid != ::getpid()) return kNotInitialized;
  return state().injection.next(symbol).code;
}

// 0, 1 and 2 are the default streams.
std::shared_ptr<Queue> queue_of(StreamHandle* stream) {
  if (reinterpret_cast<std::uintptr_t>(stream) > 2) return stream->queue;
  return state().machine.default_stream(current().empty() ? 0 : current().back()->device);
}

void delay() {
  const long microseconds = number("FAKE_CUDA_DELAY_US", 0);
  if (microseconds > 0) ::usleep(static_cast<useconds_t>(microseconds));
}

}  // namespace

#define FAKE_API extern "C" __attribute__((visibility("default"))) int
#define FAKE_TRY(symbol) \
  if (const int code = checked(#symbol); code != kOk) return code

FAKE_API cuInit(unsigned) {
  FAKE_TRY(cuInit);
  return state().machine.count() > 0 ? kOk : 100;
}
FAKE_API cuDriverGetVersion(int* version) {
  *version = 13000;
  return kOk;
}
FAKE_API cuGetErrorName(int code, const char** name) {
  *name = code == 2   ? "CUDA_ERROR_OUT_OF_MEMORY"
          : code == 3 ? "CUDA_ERROR_NOT_INITIALIZED"
                      : "CUDA_ERROR_FAKE";
  return kOk;
}
FAKE_API cuGetErrorString(int, const char** text) {
  *text = "an error of the fake driver";
  return kOk;
}
FAKE_API cuDeviceGetCount(int* count) {
  FAKE_TRY(cuDeviceGetCount);
  *count = state().machine.count();
  return kOk;
}
FAKE_API cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return state().machine.has(ordinal) ? kOk : kInvalidDevice;
}
FAKE_API cuDeviceGetName(char* name, int length, int) {
  std::snprintf(name, static_cast<std::size_t>(length), "Fake GPU");
  return kOk;
}
FAKE_API cuDeviceGetUuid(unsigned char* uuid, int device) {
  std::memset(uuid, 0, 16);
  std::memcpy(uuid, "fake", 4);
  uuid[15] = static_cast<unsigned char>(state().machine.physical(device));
  return kOk;
}
FAKE_API cuDeviceGetUuid_v2(unsigned char* uuid, int device) {
  return cuDeviceGetUuid(uuid, device);
}
FAKE_API cuDeviceGetPCIBusId(char* text, int length, int device) {
  const bool parts = number("FAKE_CUDA_MIG", 0) != 0;
  const int bus = parts ? 1 : state().machine.physical(device) + 1;
  std::snprintf(text, static_cast<std::size_t>(length), "0000:%02x:00.0", static_cast<unsigned>(bus));
  return kOk;
}
FAKE_API cuDevicePrimaryCtxRetain(Context** context, int device) {
  FAKE_TRY(cuDevicePrimaryCtxRetain);
  *context = state().machine.context(device);
  return kOk;
}
FAKE_API cuDevicePrimaryCtxRelease_v2(int) {
  return kOk;
}
FAKE_API cuCtxPushCurrent_v2(Context* context) {
  if (state().pid != ::getpid()) return kNotInitialized;
  current().push_back(context);
  return kOk;
}
FAKE_API cuCtxPopCurrent_v2(Context** context) {
  if (current().empty()) return kInvalidContext;
  *context = current().back();
  current().pop_back();
  return kOk;
}
FAKE_API cuCtxGetDevice(int* device) {
  if (current().empty()) return kInvalidContext;
  *device = current().back()->device;
  return kOk;
}
FAKE_API cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return kOk;
}
FAKE_API cuStreamCreateWithPriority(StreamHandle** stream, unsigned, int) {
  FAKE_TRY(cuStreamCreateWithPriority);
  if (current().empty()) return kInvalidContext;
  *stream = new StreamHandle{state().machine.new_stream()};
  return kOk;
}
FAKE_API cuStreamDestroy_v2(StreamHandle* stream) {
  stream->queue->stop();
  delete stream;
  return kOk;
}
FAKE_API cuStreamWaitEvent(StreamHandle* stream, EventHandle* handle, unsigned) {
  FAKE_TRY(cuStreamWaitEvent);
  queue_of(stream)->push([event = handle->event, last = handle->event->last()] { event->wait(last); });
  return kOk;
}
FAKE_API cuStreamSynchronize(StreamHandle* stream) {
  queue_of(stream)->drain();
  return kOk;
}
FAKE_API cuStreamQuery(StreamHandle* stream) {
  return queue_of(stream)->idle() ? kOk : kNotReady;
}
FAKE_API cuStreamIsCapturing(StreamHandle*, int* status) {
  *status = static_cast<int>(number("FAKE_CUDA_CAPTURING", 0));
  return kOk;
}
FAKE_API cuThreadExchangeStreamCaptureMode(int*) {
  return kOk;
}
FAKE_API cuEventCreate(EventHandle** event, unsigned) {
  FAKE_TRY(cuEventCreate);
  if (current().empty()) return kInvalidContext;
  *event = new EventHandle;
  return kOk;
}
FAKE_API cuEventDestroy_v2(EventHandle* event) {
  delete event;
  return kOk;
}
FAKE_API cuEventRecord(EventHandle* handle, StreamHandle* stream) {
  FAKE_TRY(cuEventRecord);
  queue_of(stream)->push([event = handle->event, mine = handle->event->record()] { event->complete(mine); });
  return kOk;
}
FAKE_API cuEventQuery(EventHandle* event) {
  return event->event->ready() ? kOk : kNotReady;
}
FAKE_API cuLaunchHostFunc(StreamHandle* stream, void (*function)(void*), void* data) {
  queue_of(stream)->push([function, data] {
    delay();
    function(data);
  });
  return kOk;
}
FAKE_API cuMemcpyAsync(std::uintptr_t to, std::uintptr_t from, std::size_t bytes, StreamHandle* stream) {
  FAKE_TRY(cuMemcpyAsync);
  queue_of(stream)->push([to, from, bytes] {
    delay();
    std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  });
  return kOk;
}
// The one kernel there is takes as many nanoseconds as its argument says, as the GPU check's takes cycles.
FAKE_API cuModuleLoadData(void** module, const void* image) {
  *module = const_cast<void*>(image);
  return kOk;
}
FAKE_API cuModuleGetFunction(void** function, void* module, const char*) {
  *function = module;
  return kOk;
}
FAKE_API cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        StreamHandle* stream, void** parameters, void**) {
  const auto nanoseconds = *static_cast<std::uint64_t*>(parameters[0]);
  queue_of(stream)->push([nanoseconds] { ::usleep(static_cast<useconds_t>(nanoseconds / 1000)); });
  return kOk;
}
FAKE_API cuMemAlloc_v2(std::uintptr_t* pointer, std::size_t bytes) {
  FAKE_TRY(cuMemAlloc_v2);
  if (current().empty()) return kInvalidContext;
  void* memory = std::malloc(bytes > 0 ? bytes : 1);
  state().machine.own(memory, bytes > 0 ? bytes : 1, current().back()->device);
  *pointer = reinterpret_cast<std::uintptr_t>(memory);
  return kOk;
}
FAKE_API cuMemFree_v2(std::uintptr_t pointer) {
  void* memory = reinterpret_cast<void*>(pointer);
  state().machine.drain();
  if (!state().machine.disown(memory)) return kInvalidValue;
  std::free(memory);
  return kOk;
}
FAKE_API cuMemHostAlloc(void** pointer, std::size_t bytes, unsigned) {
  FAKE_TRY(cuMemHostAlloc);
  *pointer = std::malloc(bytes);
  return kOk;
}
FAKE_API cuMemFreeHost(void* pointer) {
  state().machine.drain();
  std::free(pointer);
  return kOk;
}
FAKE_API cuMemHostRegister_v2(void*, std::size_t, unsigned) {
  return kOk;
}
FAKE_API cuMemHostUnregister(void*) {
  return kOk;
}
FAKE_API cuPointerGetAttribute(void* value, int attribute, std::uintptr_t pointer) {
  const int device = state().machine.device_of(pointer);
  if (attribute != 9 || device < 0) return kInvalidValue;
  *static_cast<int*>(value) = device;
  return kOk;
}
