// AVX-512 F, BW, DQ and VL. bfloat16 by shifts: AVX512-BF16's conversion flushes subnormals, whatever the
// mode.
#if defined(__x86_64__)

#define RING_ISA avx512

#include <immintrin.h>

#include <cstddef>  // for byte, size_t

namespace ring::kernel::RING_ISA {
namespace {
constexpr std::size_t kVectorBytes = 64;
constexpr const char* kName = "avx512";
}  // namespace
}  // namespace ring::kernel::RING_ISA

#include "ring/kernel/simd/vector.h"

namespace ring::kernel::RING_ISA {
namespace {

RING_INLINE __m256i load_halves(const std::byte* at) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
}
RING_INLINE void store_halves(std::byte* at, __m256i halves) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), halves);
}

RING_INLINE Floats load_float16(const std::byte* at) {
  return (Floats)_mm512_cvtph_ps(load_halves(at));
}
RING_INLINE void store_float16(std::byte* at, Floats v) {
  store_halves(at, _mm512_cvtps_ph((__m512)v, _MM_FROUND_TO_NEAREST_INT));
}

RING_INLINE Floats load_bfloat16(const std::byte* at) {
  return (Floats)_mm512_slli_epi32(_mm512_cvtepu16_epi32(load_halves(at)), 16);
}
RING_INLINE void store_bfloat16(std::byte* at, Floats v) {
  const auto bits = (Words)v;
  store_halves(at, _mm512_cvtepi32_epi16((__m512i)((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16)));
}

RING_INLINE Floats scale_in_double(Floats v, double factor) {
  const __m512d by = _mm512_set1_pd(factor);
  const __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256((__m512)v));
  const __m512d high = _mm512_cvtps_pd(_mm512_extractf32x8_ps((__m512)v, 1));
  const __m256 scaled_low = _mm512_cvtpd_ps(_mm512_mul_pd(low, by));
  const __m256 scaled_high = _mm512_cvtpd_ps(_mm512_mul_pd(high, by));
  return (Floats)_mm512_insertf32x8(_mm512_castps256_ps512(scaled_low), scaled_high, 1);
}

// 64 bytes to an address that is a multiple of 64.
RING_INLINE void stream_line(const std::byte* in, std::byte* out) {
  _mm512_stream_ps(reinterpret_cast<float*>(out), (__m512)load_vector<Floats>(in));
}

RING_INLINE void fence_streams() {
  _mm_sfence();
}

}  // namespace
}  // namespace ring::kernel::RING_ISA

#include "ring/kernel/simd/table.h"

#endif
