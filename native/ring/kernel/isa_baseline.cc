// What every processor of the architecture runs: SSE2, NEON, or plain code.
#define RING_ISA baseline

#include <cstddef>  // for byte, size_t

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace ring::kernel::RING_ISA {
namespace {

constexpr std::size_t kVectorBytes = 16;
#if defined(__SSE2__)
constexpr const char* kName = "sse2";
#elif defined(__ARM_NEON)
constexpr const char* kName = "neon";
#else
constexpr const char* kName = "portable";
#endif

}  // namespace
}  // namespace ring::kernel::RING_ISA

#include "ring/kernel/simd/half.h"
#include "ring/kernel/simd/vector.h"

namespace ring::kernel::RING_ISA {
namespace {

RING_INLINE Floats scale_in_double(Floats v, double factor) {
  Floats scaled{};
  for (std::size_t i = 0; i < kLanes<float>; ++i) {
    scaled[i] = static_cast<float>(static_cast<double>(v[i]) * factor);
  }
  return scaled;
}

// 64 bytes to an address that is a multiple of 64.
RING_INLINE void stream_line(const std::byte* in, std::byte* out) {
  for (std::size_t i = 0; i < 64; i += kVectorBytes) {
#if defined(__SSE2__)
    _mm_stream_ps(reinterpret_cast<float*>(out + i), (__m128)load_vector<Floats>(in + i));
#else
    store_vector(out + i, load_vector<Floats>(in + i));
#endif
  }
}

RING_INLINE void fence_streams() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace
}  // namespace ring::kernel::RING_ISA

#include "ring/kernel/simd/table.h"
