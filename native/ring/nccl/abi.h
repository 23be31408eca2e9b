// The part of NCCL's C interface that is used here, declared by hand: nccl.h needs CUDA's headers. Plain
// types. Numbers, layouts and signatures are those of NCCL 2.18; later versions only append. `abi_check.cc`
// among the tests compares them with a real nccl.h where one is at hand.
#pragma once

#include <climits>  // for INT_MIN
#include <cstddef>  // for offsetof, size_t
#include <cstdint>  // for uint32_t

namespace ring::nccl {

struct OpaqueComm;
using Comm = OpaqueComm*;
struct OpaqueStream;
using Stream = OpaqueStream*;  // cudaStream_t, which is CUstream

struct UniqueId {
  char bytes[128];
};
static_assert(sizeof(UniqueId) == 128 && alignof(UniqueId) == 1, "passed by value");

enum Outcome : int {
  kSuccess = 0,
  kUnhandledCudaError = 1,
  kSystemError = 2,
  kInternalError = 3,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemoteError = 6,  // since 2.13
  kInProgress = 7,   // since 2.14
  kTimeout = 8,      // since 2.29
};
static_assert(sizeof(Outcome) == sizeof(int));

enum RedOp : int { kSum = 0, kProd = 1, kMax = 2, kMin = 3, kAvg = 4 };
static_assert(sizeof(RedOp) == sizeof(int));

enum DataType : int {
  kInt8 = 0,
  kUint8 = 1,
  kInt32 = 2,
  kUint32 = 3,
  kInt64 = 4,
  kUint64 = 5,
  kFloat16 = 6,
  kFloat32 = 7,
  kFloat64 = 8,
  kBfloat16 = 9,
};
static_assert(sizeof(DataType) == sizeof(int));

enum ScalarResidence : int { kScalarDevice = 0, kScalarHostImmediate = 1 };

inline constexpr int kUndefined = INT_MIN;
inline constexpr unsigned kMagic = 0xcafebeef;
inline constexpr int kNoColor = -1;

constexpr int version_code(int major, int minor, int patch = 0) {
  return major * 10000 + minor * 100 + patch;  // since 2.9
}
inline constexpr int kOldestVersion = version_code(2, 18);

// The configuration as of 2.18. `size` and `version` tell a newer library which fields are there.
struct Config {
  std::size_t size = sizeof(Config);
  unsigned magic = kMagic;
  unsigned version = kOldestVersion;
  int blocking = kUndefined;
  int cga_cluster_size = kUndefined;
  int min_ctas = kUndefined;
  int max_ctas = kUndefined;
  const char* net_name = nullptr;
  int split_share = kUndefined;
};
static_assert(offsetof(Config, magic) == 8 && offsetof(Config, version) == 12);
static_assert(offsetof(Config, blocking) == 16 && offsetof(Config, cga_cluster_size) == 20);
static_assert(offsetof(Config, min_ctas) == 24 && offsetof(Config, max_ctas) == 28);
static_assert(offsetof(Config, net_name) == 32 && offsetof(Config, split_share) == 40);
static_assert(sizeof(Config) == 48);

// One field for each function: RING_NCCL_FUNCTIONS(required, optional) with (field, symbol, result,
// parameters).
#define RING_NCCL_FUNCTIONS(REQUIRED, OPTIONAL)                                                           \
  REQUIRED(get_version, ncclGetVersion, Outcome, (int*))                                                  \
  REQUIRED(get_unique_id, ncclGetUniqueId, Outcome, (UniqueId*))                                          \
  REQUIRED(get_error_string, ncclGetErrorString, const char*, (Outcome))                                  \
  REQUIRED(get_last_error, ncclGetLastError, const char*, (Comm))                                         \
  REQUIRED(init_rank, ncclCommInitRankConfig, Outcome, (Comm*, int, UniqueId, int, Config*))              \
  REQUIRED(get_async_error, ncclCommGetAsyncError, Outcome, (Comm, Outcome*))                             \
  REQUIRED(finalize, ncclCommFinalize, Outcome, (Comm))                                                   \
  REQUIRED(destroy, ncclCommDestroy, Outcome, (Comm))                                                     \
  REQUIRED(abort, ncclCommAbort, Outcome, (Comm))                                                         \
  REQUIRED(all_reduce, ncclAllReduce, Outcome,                                                            \
           (const void*, void*, std::size_t, DataType, RedOp, Comm, Stream))                              \
  REQUIRED(broadcast, ncclBroadcast, Outcome,                                                             \
           (const void*, void*, std::size_t, DataType, int, Comm, Stream))                                \
  REQUIRED(reduce, ncclReduce, Outcome,                                                                   \
           (const void*, void*, std::size_t, DataType, RedOp, int, Comm, Stream))                         \
  REQUIRED(all_gather, ncclAllGather, Outcome, (const void*, void*, std::size_t, DataType, Comm, Stream)) \
  REQUIRED(reduce_scatter, ncclReduceScatter, Outcome,                                                    \
           (const void*, void*, std::size_t, DataType, RedOp, Comm, Stream))                              \
  REQUIRED(send, ncclSend, Outcome, (const void*, std::size_t, DataType, int, Comm, Stream))              \
  REQUIRED(recv, ncclRecv, Outcome, (void*, std::size_t, DataType, int, Comm, Stream))                    \
  REQUIRED(group_start, ncclGroupStart, Outcome, ())                                                      \
  REQUIRED(group_end, ncclGroupEnd, Outcome, ())                                                          \
  REQUIRED(create_pre_mul_sum, ncclRedOpCreatePreMulSum, Outcome,                                         \
           (RedOp*, void*, DataType, ScalarResidence, Comm))                                              \
  REQUIRED(destroy_op, ncclRedOpDestroy, Outcome, (RedOp, Comm))                                          \
  OPTIONAL(split, ncclCommSplit, Outcome, (Comm, int, int, Comm*, Config*))                               \
  OPTIONAL(register_buffer, ncclCommRegister, Outcome, (Comm, void*, std::size_t, void**))                \
  OPTIONAL(deregister_buffer, ncclCommDeregister, Outcome, (Comm, void*))

struct Api {
#define RING_NCCL_FIELD(field, symbol, result, parameters) result(*field) parameters = nullptr;
  RING_NCCL_FUNCTIONS(RING_NCCL_FIELD, RING_NCCL_FIELD)
#undef RING_NCCL_FIELD
};

}  // namespace ring::nccl
