// AVX2 and F16C.
#if defined(__x86_64__)

#define RING_ISA avx2

#include <immintrin.h>

#include <cstddef>  // for byte, size_t

namespace ring::kernel::RING_ISA {
namespace {
constexpr std::size_t kVectorBytes = 32;
constexpr const char* kName = "avx2";
}  // namespace
}  // namespace ring::kernel::RING_ISA

#include "ring/kernel/simd/vector.h"

namespace ring::kernel::RING_ISA {
namespace {

RING_INLINE __m128i load_halves(const std::byte* at) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
}
RING_INLINE void store_halves(std::byte* at, __m128i halves) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(at), halves);
}

RING_INLINE Floats load_float16(const std::byte* at) {
  return (Floats)_mm256_cvtph_ps(load_halves(at));
}
RING_INLINE void store_float16(std::byte* at, Floats v) {
  store_halves(at, _mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT));
}

RING_INLINE Floats load_bfloat16(const std::byte* at) {
  return (Floats)_mm256_slli_epi32(_mm256_cvtepu16_epi32(load_halves(at)), 16);
}
RING_INLINE void store_bfloat16(std::byte* at, Floats v) {
  const auto bits = (Words)v;
  const auto rounded = (__m256i)((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
  store_halves(at, _mm_packus_epi32(_mm256_castsi256_si128(rounded), _mm256_extracti128_si256(rounded, 1)));
}

RING_INLINE Floats scale_in_double(Floats v, double factor) {
  const __m256d by = _mm256_set1_pd(factor);
  const __m256d low = _mm256_cvtps_pd(_mm256_castps256_ps128((__m256)v));
  const __m256d high = _mm256_cvtps_pd(_mm256_extractf128_ps((__m256)v, 1));
  const __m128 scaled_low = _mm256_cvtpd_ps(_mm256_mul_pd(low, by));
  const __m128 scaled_high = _mm256_cvtpd_ps(_mm256_mul_pd(high, by));
  return (Floats)_mm256_insertf128_ps(_mm256_castps128_ps256(scaled_low), scaled_high, 1);
}

// 64 bytes to an address that is a multiple of 64.
RING_INLINE void stream_line(const std::byte* in, std::byte* out) {
  const Floats low = load_vector<Floats>(in);
  const Floats high = load_vector<Floats>(in + kVectorBytes);
  _mm256_stream_ps(reinterpret_cast<float*>(out), (__m256)low);
  _mm256_stream_ps(reinterpret_cast<float*>(out + kVectorBytes), (__m256)high);
}

RING_INLINE void fence_streams() {
  _mm_sfence();
}

}  // namespace
}  // namespace ring::kernel::RING_ISA

#include "ring/kernel/simd/table.h"

#endif
