// Compares ring/nccl/abi.h with a real nccl.h; compiled, never run (tests/device/test_nccl_abi.py). Stand-ins
// for CUDA's headers are enough, since nothing of theirs is used but names.
#include <nccl.h>

#include <cstddef>      // for offsetof
#include <type_traits>  // for enable_if, is_class, is_enum, is_pointer, is_same

#include "ring/nccl/abi.h"

namespace {

namespace ours = ring::nccl;

// Passed in the same way: by kind and size, not by name.
template <typename A, typename B>
constexpr bool alike() {
  if (std::is_pointer<A>::value || std::is_pointer<B>::value) {
    return std::is_pointer<A>::value && std::is_pointer<B>::value;
  }
  if (std::is_void<A>::value || std::is_void<B>::value) return std::is_same<A, B>::value;
  if (std::is_class<A>::value != std::is_class<B>::value) return false;
  const bool whole = (std::is_enum<A>::value || std::is_integral<A>::value) &&
                     (std::is_enum<B>::value || std::is_integral<B>::value);
  return sizeof(A) == sizeof(B) && (whole || std::is_class<A>::value);
}

template <typename A, typename B>
struct Same : std::false_type {};
template <typename R, typename... P, typename S, typename... Q>
struct Same<R (*)(P...), S (*)(Q...)> {
  static constexpr bool compare() {
    if constexpr (sizeof...(P) != sizeof...(Q)) {
      return false;
    } else {
      return alike<R, S>() && (alike<P, Q>() && ...);
    }
  }
  static constexpr bool value = compare();
};

#define CHECK_FUNCTION(field, symbol, result, parameters)                           \
  static_assert(Same<decltype(&symbol), decltype(ours::Api::field)>::value, #symbol \
                " has other "                                                       \
                "parameters");
RING_NCCL_FUNCTIONS(CHECK_FUNCTION, CHECK_FUNCTION)

static_assert(sizeof(ours::UniqueId) == sizeof(ncclUniqueId));
static_assert(sizeof(ours::Outcome) == sizeof(ncclResult_t) &&
              sizeof(ours::DataType) == sizeof(ncclDataType_t));
static_assert(sizeof(ours::RedOp) == sizeof(ncclRedOp_t) &&
              sizeof(ours::ScalarResidence) == sizeof(ncclScalarResidence_t));

#define CHECK_VALUE(mine, theirs) \
  static_assert(static_cast<int>(ours::mine) == static_cast<int>(theirs), #theirs)
CHECK_VALUE(kSuccess, ncclSuccess);
CHECK_VALUE(kUnhandledCudaError, ncclUnhandledCudaError);
CHECK_VALUE(kSystemError, ncclSystemError);
CHECK_VALUE(kInternalError, ncclInternalError);
CHECK_VALUE(kInvalidArgument, ncclInvalidArgument);
CHECK_VALUE(kInvalidUsage, ncclInvalidUsage);
CHECK_VALUE(kRemoteError, ncclRemoteError);
CHECK_VALUE(kInProgress, ncclInProgress);
CHECK_VALUE(kSum, ncclSum);
CHECK_VALUE(kProd, ncclProd);
CHECK_VALUE(kMax, ncclMax);
CHECK_VALUE(kMin, ncclMin);
CHECK_VALUE(kAvg, ncclAvg);
CHECK_VALUE(kInt8, ncclInt8);
CHECK_VALUE(kUint8, ncclUint8);
CHECK_VALUE(kInt32, ncclInt32);
CHECK_VALUE(kUint32, ncclUint32);
CHECK_VALUE(kInt64, ncclInt64);
CHECK_VALUE(kUint64, ncclUint64);
CHECK_VALUE(kFloat16, ncclFloat16);
CHECK_VALUE(kFloat32, ncclFloat32);
CHECK_VALUE(kFloat64, ncclFloat64);
CHECK_VALUE(kBfloat16, ncclBfloat16);
CHECK_VALUE(kScalarDevice, ncclScalarDevice);
CHECK_VALUE(kScalarHostImmediate, ncclScalarHostImmediate);
CHECK_VALUE(kUndefined, NCCL_CONFIG_UNDEF_INT);
CHECK_VALUE(kNoColor, NCCL_SPLIT_NOCOLOR);
static_assert(ours::version_code(2, 18, 5) == NCCL_VERSION(2, 18, 5));

// Ours is the beginning of theirs.
static_assert(sizeof(ours::Config) <= sizeof(ncclConfig_t));
#define CHECK_FIELD(mine, theirs) \
  static_assert(offsetof(ours::Config, mine) == offsetof(ncclConfig_t, theirs), #theirs)
CHECK_FIELD(size, size);
CHECK_FIELD(magic, magic);
CHECK_FIELD(version, version);
CHECK_FIELD(blocking, blocking);
CHECK_FIELD(cga_cluster_size, cgaClusterSize);
CHECK_FIELD(min_ctas, minCTAs);
CHECK_FIELD(max_ctas, maxCTAs);
CHECK_FIELD(net_name, netName);
CHECK_FIELD(split_share, splitShare);
constexpr ncclConfig_t kTheirs = NCCL_CONFIG_INITIALIZER;
static_assert(kTheirs.magic == ours::kMagic);

}  // namespace
