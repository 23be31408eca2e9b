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

#include "ring/kernel/simd/vector.h"

namespace ring::kernel::RING_ISA {
namespace {

// Four 16-bit words, as the lower halves of 32-bit ones.
RING_INLINE Words load_words(const std::byte* at) {
#if defined(__SSE2__)
  const __m128i halves = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(at));
  return (Words)_mm_unpacklo_epi16(halves, _mm_setzero_si128());
#else
  return __builtin_convertvector((load_vector<VectorOf<std::uint16_t, kVectorBytes / 2>::Type>(at)), Words);
#endif
}
RING_INLINE void store_words(std::byte* at, Words words) {
#if defined(__SSE2__)
  const __m128i extended = (__m128i)((SignedWords)(words << 16) >> 16);  // SSE2 packs with signs only
  _mm_storel_epi64(reinterpret_cast<__m128i*>(at), _mm_packs_epi32(extended, extended));
#else
  store_vector(at, __builtin_convertvector(words, VectorOf<std::uint16_t, kVectorBytes / 2>::Type));
#endif
}

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

#include "ring/kernel/simd/half.h"
#include "ring/kernel/simd/table.h"
