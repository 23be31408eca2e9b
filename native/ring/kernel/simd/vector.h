// Vectors of one instruction set (RING_ISA, kVectorBytes). Pure; any thread.
//
// The headers of this folder are compiled once for each instruction set, with other flags each. So that the
// linker never puts a function of one set in place of another's, everything lies in that set's namespace,
// without a name outside its unit, and the units include nothing that defines inline functions of its own:
// only these headers, <cstddef>, <cstdint> and the compiler's intrinsics.
#pragma once

#include <cstddef>  // for byte, size_t
#include <cstdint>  // for int32_t, uint32_t, uint64_t

#define RING_INLINE [[gnu::always_inline]] inline

namespace ring::kernel::RING_ISA {
namespace {

template <typename T, std::size_t kBytes = kVectorBytes>
struct VectorOf {
  typedef T Type __attribute__((vector_size(kBytes)));
};
template <typename T>
using Vector = typename VectorOf<T>::Type;

template <typename T>
constexpr std::size_t kLanes = kVectorBytes / sizeof(T);

using Floats = Vector<float>;
using Doubles = Vector<double>;
using Words = Vector<std::uint32_t>;
using SignedWords = Vector<std::int32_t>;
using LongWords = Vector<std::uint64_t>;
using Longs = Vector<std::int64_t>;

// The two 16-bit formats, as template arguments.
struct Float16 {};
struct BFloat16 {};

template <typename V>
RING_INLINE V load_vector(const std::byte* at) {
  V vector;
  __builtin_memcpy(&vector, at, sizeof vector);
  return vector;
}

template <typename V>
RING_INLINE void store_vector(std::byte* at, V vector) {
  __builtin_memcpy(at, &vector, sizeof vector);
}

RING_INLINE Floats canonical(Floats v) {
  return v == v ? v : (Floats)(Words{} + 0x7fc00000U);
}
RING_INLINE Doubles canonical(Doubles v) {
  return v == v ? v : (Doubles)(LongWords{} + std::uint64_t{0x7ff8000000000000U});
}

}  // namespace
}  // namespace ring::kernel::RING_ISA
