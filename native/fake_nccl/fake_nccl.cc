// NCCL's interface over host memory, between processes or threads, for tests that go through the real dlopen.
//   FAKE_NCCL_VERSION  what ncclGetVersion tells (23203)
//   FAKE_NCCL_FAIL     fails calls: "AllReduce:2:6" at once, "AllReduce:2:6:async" in the background
//   FAKE_NCCL_HANG     "CommInitRankConfig": ranks never meet; "AllReduce": its kernel never ends
//   FAKE_NCCL_SLOW     a launch is ready only after so many polls
//   FAKE_NCCL_DIR      folder of the shared files (/dev/shm)
// Built with FAKE_NCCL_PARTIAL=1 it lacks what is optional, with 2 also something that is required.
#include <dlfcn.h>   // for dlopen, dlsym
#include <fcntl.h>   // for open
#include <unistd.h>  // for close, read

#include <cstdio>   // for snprintf, fprintf
#include <cstring>  // for memcpy
#include <set>      // for set

#include "fake_nccl/communicator.h"
#include "fake_nccl/injection.h"

#ifndef FAKE_NCCL_PARTIAL
#define FAKE_NCCL_PARTIAL 0
#endif

namespace {

using namespace fake;
using namespace ring::nccl;
using fake::Communicator;

struct Handle {
  std::shared_ptr<Communicator> communicator;
};

// Stays until the process ends: threads of streams may outlive what is destroyed at exit.
struct Process {
  Injection injection{"FAKE_NCCL_FAIL"};
  std::mutex mutex;
  std::set<Handle*> alive;
};
Process& process() {
  static Process* const only = new Process;
  return *only;
}

Comm add(std::shared_ptr<Communicator> communicator) {
  auto* handle = new Handle{std::move(communicator)};
  const std::lock_guard lock(process().mutex);
  process().alive.insert(handle);
  return reinterpret_cast<Comm>(handle);
}

// Using a communicator after its end is a bug that must not pass unnoticed.
std::shared_ptr<Communicator> communicator_of(Comm comm) {
  auto* handle = reinterpret_cast<Handle*>(comm);
  const std::lock_guard lock(process().mutex);
  if (process().alive.count(handle) == 0) {
    std::fprintf(stderr, "fake NCCL: a communicator is used after its end\n");
    std::abort();
  }
  return handle->communicator;
}

std::shared_ptr<Communicator> remove(Comm comm) {
  auto communicator = communicator_of(comm);
  auto* handle = reinterpret_cast<Handle*>(comm);
  const std::lock_guard lock(process().mutex);
  process().alive.erase(handle);
  delete handle;
  return communicator;
}

// The PCI id of this thread's current device.
bool current_pci(std::string& pci) {
  void* driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (driver == nullptr) return false;
  const auto get = reinterpret_cast<int (*)(int*)>(::dlsym(driver, "cuCtxGetDevice"));
  const auto name = reinterpret_cast<int (*)(char*, int, int)>(::dlsym(driver, "cuDeviceGetPCIBusId"));
  int device = -1;
  char text[32] = {};
  if (get(&device) != 0 || name(text, sizeof text, device) != 0) return false;
  pci = text;
  return true;
}

bool asked_to_hang(const char* op) {
  return setting("FAKE_NCCL_HANG") == op;
}

// What one thread has said since its outermost ncclGroupStart.
struct Call {
  std::shared_ptr<Communicator> communicator;
  Stream stream;
  Communicator::Kernel kernel;  // null for a message
  std::vector<Span> sends;
  std::vector<Span> receives;
};
struct Group {
  int depth = 0;
  std::vector<Call> calls;
};
Group& group() {
  thread_local Group only;
  return only;
}

// Kernels in order, all messages together behind them, as one launch.
Communicator::Kernel fuse(std::vector<Call> calls) {
  return [calls = std::move(calls)](Communicator& self) {
    std::vector<Span> sends;
    std::vector<Span> receives;
    for (const auto& call : calls) {
      if (call.kernel && !call.kernel(self)) return false;
      sends.insert(sends.end(), call.sends.begin(), call.sends.end());
      receives.insert(receives.end(), call.receives.begin(), call.receives.end());
    }
    return self.exchange(std::move(sends), std::move(receives));
  };
}

Outcome launch_all() {
  std::vector<Call> left;
  left.swap(group().calls);
  Outcome worst = kSuccess;
  while (!left.empty()) {
    const auto communicator = left.front().communicator;
    const Stream stream = left.front().stream;
    std::vector<Call> mine;
    std::vector<Call> others;
    for (auto& call : left) (call.communicator == communicator ? mine : others).push_back(std::move(call));
    left.swap(others);
    const Outcome outcome = communicator->launch(stream, fuse(std::move(mine)));
    if (outcome != kSuccess) worst = outcome;
  }
  return worst;
}

// Notes a call; outside of a group it is launched at once.
Outcome note(const char* op, Comm comm, Stream stream, Call call) {
  const auto injected = process().injection.next(op);
  if (injected.code != 0 && !injected.async) return static_cast<Outcome>(injected.code);
  call.communicator = communicator_of(comm);
  call.stream = stream;
  if (injected.async || asked_to_hang(op)) {
    call.kernel = [injected](Communicator& self) {
      if (injected.async) self.fail(static_cast<Outcome>(injected.code));
      return self.hang();
    };
  }
  group().calls.push_back(std::move(call));
  return group().depth > 0 ? kSuccess : launch_all();
}

std::byte* bytes(const void* pointer) {
  return const_cast<std::byte*>(static_cast<const std::byte*>(pointer));
}

// Every rank gives `mine` to all and gets theirs, by rank.
bool gather(Communicator& self, const std::vector<Span>& sends, std::size_t size,
            std::vector<std::vector<std::byte>>& got) {
  got.assign(static_cast<std::size_t>(self.size()), std::vector<std::byte>(size));
  std::vector<Span> receives;
  for (int peer = 0; peer < self.size(); ++peer)
    receives.push_back({peer, got[static_cast<std::size_t>(peer)].data(), size});
  return self.exchange(sends, std::move(receives));
}

std::vector<const std::byte*> pointers(const std::vector<std::vector<std::byte>>& buffers) {
  std::vector<const std::byte*> found;
  for (const auto& buffer : buffers) found.push_back(buffer.data());
  return found;
}

std::vector<Span> to_all(const Communicator& self, const std::byte* data, std::size_t size,
                         std::size_t stride) {
  std::vector<Span> sends;
  for (int peer = 0; peer < self.size(); ++peer) {
    sends.push_back({peer, bytes(data) + static_cast<std::size_t>(peer) * stride, size});
  }
  return sends;
}

}  // namespace

#define FAKE_API extern "C" __attribute__((visibility("default"))) Outcome

FAKE_API ncclGetVersion(int* version) {
  *version = static_cast<int>(number("FAKE_NCCL_VERSION", 23203));
  return kSuccess;
}
FAKE_API ncclGetUniqueId(UniqueId* id) {
  if (const auto injected = process().injection.next("GetUniqueId"); injected.code != 0) {
    return static_cast<Outcome>(injected.code);
  }
  const int fd = ::open("/dev/urandom", O_RDONLY | O_CLOEXEC);
  const auto got = ::read(fd, id->bytes, sizeof id->bytes);
  ::close(fd);
  return got == sizeof id->bytes ? kSuccess : kSystemError;
}
extern "C" __attribute__((visibility("default"))) const char* ncclGetErrorString(Outcome outcome) {
  static const char* const kTexts[] = {"no error",
                                       "unhandled cuda error",
                                       "unhandled system error",
                                       "internal error",
                                       "invalid argument",
                                       "invalid usage",
                                       "remote process exited or there was a network error",
                                       "NCCL operation in progress",
                                       "operation timed out"};
  return outcome >= 0 && outcome <= kTimeout ? kTexts[outcome] : "unknown result code";
}
extern "C" __attribute__((visibility("default"))) const char* ncclGetLastError(Comm comm) {
  thread_local std::string text;
  text = comm == nullptr ? "" : communicator_of(comm)->last_error();
  return text.c_str();
}
FAKE_API ncclCommInitRankConfig(Comm* comm, int size, UniqueId id, int rank, Config* config) {
  if (const auto injected = process().injection.next("CommInitRankConfig"); injected.code != 0) {
    return static_cast<Outcome>(injected.code);
  }
  const bool known = config->magic == kMagic && config->size >= sizeof(Config) && config->version >= 21800U;
  if (!known || config->blocking != 0 || size > kMostRanks || rank < 0 || rank >= size)
    return kInvalidArgument;
  std::string pci;
  if (!current_pci(pci)) return kUnhandledCudaError;
  std::string name;
  char digits[3];
  for (int i = 0; i < 12; ++i) {
    std::snprintf(digits, sizeof digits, "%02x",
                  static_cast<unsigned>(static_cast<unsigned char>(id.bytes[i])));
    name += digits;
  }
  auto world = World::join(name, size, rank, pci);
  if (!world) return kSystemError;
  *comm = add(std::make_shared<Communicator>(std::move(world), rank, asked_to_hang("CommInitRankConfig")));
  return kInProgress;
}
FAKE_API ncclCommInitRank(Comm* comm, int size, UniqueId id, int rank) {
  Config config;
  config.blocking = 0;
  Outcome outcome = ncclCommInitRankConfig(comm, size, id, rank, &config);
  while (outcome == kInProgress) {
    ::usleep(50);
    outcome = communicator_of(*comm)->poll();
  }
  return outcome;
}
FAKE_API ncclCommGetAsyncError(Comm comm, Outcome* error) {
  *error = communicator_of(comm)->poll();
  return kSuccess;
}
FAKE_API ncclCommFinalize(Comm comm) {
  const auto injected = process().injection.next("CommFinalize");
  return injected.code != 0 ? static_cast<Outcome>(injected.code) : communicator_of(comm)->finalize();
}
FAKE_API ncclCommDestroy(Comm comm) {
  remove(comm);
  return kSuccess;
}
FAKE_API ncclCommAbort(Comm comm) {
  remove(comm)->abort();
  return kSuccess;
}
FAKE_API ncclGroupStart() {
  ++group().depth;
  return kSuccess;
}
FAKE_API ncclGroupEnd() {
  if (group().depth == 0) return kInvalidUsage;
  return --group().depth > 0 ? kSuccess : launch_all();
}
FAKE_API ncclRedOpCreatePreMulSum(RedOp* op, void* scalar, DataType type, ScalarResidence residence,
                                  Comm comm) {
  if (residence != kScalarHostImmediate) return kInvalidArgument;
  Operation made;
  made.scaled = true;
  std::memcpy(made.factor, scalar, width(type));
  *op = communicator_of(comm)->add_op(made);
  return kSuccess;
}
FAKE_API ncclRedOpDestroy(RedOp op, Comm comm) {
  return communicator_of(comm)->remove_op(op) ? kSuccess : kInvalidArgument;
}
FAKE_API ncclAllReduce(const void* send, void* recv, std::size_t count, DataType type, RedOp op, Comm comm,
                       Stream stream) {
  Operation how;
  if (width(type) == 0 || !communicator_of(comm)->find_op(op, how)) return kInvalidArgument;
  const std::size_t size = count * width(type);
  return note("AllReduce", comm, stream,
              {nullptr,
               nullptr,
               [=](Communicator& self) {
                 std::vector<std::vector<std::byte>> got;
                 if (!gather(self, to_all(self, bytes(send), size, 0), size, got)) return false;
                 reduce(pointers(got), bytes(recv), count, type, how);
                 return true;
               },
               {},
               {}});
}
FAKE_API ncclReduce(const void* send, void* recv, std::size_t count, DataType type, RedOp op, int root,
                    Comm comm, Stream stream) {
  Operation how;
  if (width(type) == 0 || !communicator_of(comm)->find_op(op, how)) return kInvalidArgument;
  const std::size_t size = count * width(type);
  return note("Reduce", comm, stream,
              {nullptr,
               nullptr,
               [=](Communicator& self) {
                 if (self.rank() != root) return self.exchange({{root, bytes(send), size}}, {});
                 std::vector<std::vector<std::byte>> got;
                 if (!gather(self, {{root, bytes(send), size}}, size, got)) return false;
                 reduce(pointers(got), bytes(recv), count, type, how);
                 return true;
               },
               {},
               {}});
}
#if FAKE_NCCL_PARTIAL < 2
FAKE_API ncclReduceScatter(const void* send, void* recv, std::size_t count, DataType type, RedOp op,
                           Comm comm, Stream stream) {
  Operation how;
  if (width(type) == 0 || !communicator_of(comm)->find_op(op, how)) return kInvalidArgument;
  const std::size_t size = count * width(type);
  return note("ReduceScatter", comm, stream,
              {nullptr,
               nullptr,
               [=](Communicator& self) {
                 std::vector<std::vector<std::byte>> got;
                 if (!gather(self, to_all(self, bytes(send), size, size), size, got)) return false;
                 reduce(pointers(got), bytes(recv), count, type, how);
                 return true;
               },
               {},
               {}});
}
#endif
FAKE_API ncclAllGather(const void* send, void* recv, std::size_t count, DataType type, Comm comm,
                       Stream stream) {
  const std::size_t size = count * width(type);
  if (size == 0) return kInvalidArgument;
  return note("AllGather", comm, stream,
              {nullptr,
               nullptr,
               [=](Communicator& self) {
                 std::vector<std::vector<std::byte>> got;
                 if (!gather(self, to_all(self, bytes(send), size, 0), size, got)) return false;
                 for (std::size_t i = 0; i < got.size(); ++i)
                   std::memcpy(bytes(recv) + i * size, got[i].data(), size);
                 return true;
               },
               {},
               {}});
}
FAKE_API ncclBroadcast(const void* send, void* recv, std::size_t count, DataType type, int root, Comm comm,
                       Stream stream) {
  const std::size_t size = count * width(type);
  if (size == 0) return kInvalidArgument;
  return note("Broadcast", comm, stream,
              {nullptr,
               nullptr,
               [=](Communicator& self) {
                 if (self.rank() != root) return self.exchange({}, {{root, bytes(recv), size}});
                 if (send != recv) std::memmove(recv, send, size);
                 auto sends = to_all(self, bytes(send), size, 0);
                 sends[static_cast<std::size_t>(root)].bytes = 0;
                 return self.exchange(std::move(sends), {});
               },
               {},
               {}});
}
FAKE_API ncclSend(const void* data, std::size_t count, DataType type, int peer, Comm comm, Stream stream) {
  return note("Send", comm, stream,
              {nullptr, nullptr, nullptr, {{peer, bytes(data), count * width(type)}}, {}});
}
FAKE_API ncclRecv(void* data, std::size_t count, DataType type, int peer, Comm comm, Stream stream) {
  return note("Recv", comm, stream,
              {nullptr, nullptr, nullptr, {}, {{peer, bytes(data), count * width(type)}}});
}
#if FAKE_NCCL_PARTIAL < 1
FAKE_API ncclCommSplit(Comm comm, int color, int key, Comm* made, Config*) {
  auto child = std::make_shared<std::shared_ptr<Communicator>>();
  return communicator_of(comm)->split(color, key, child.get(), [child, made] {
    Comm handle = *child ? add(*child) : nullptr;
    __atomic_store_n(made, handle, __ATOMIC_RELEASE);
  });
}
FAKE_API ncclCommRegister(Comm comm, void* buffer, std::size_t bytes, void** handle) {
  if (communicator_of(comm) == nullptr || bytes == 0) return kInvalidArgument;
  *handle = buffer;
  return static_cast<Outcome>(process().injection.next("CommRegister").code);
}
FAKE_API ncclCommDeregister(Comm comm, void* handle) {
  return communicator_of(comm) != nullptr && handle != nullptr ? kSuccess : kInvalidArgument;
}
#endif
