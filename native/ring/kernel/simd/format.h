// How a vector of each element type is loaded and stored. Pure; any thread.
#pragma once

#include "ring/kernel/simd/vector.h"

namespace ring::kernel::RING_ISA {
namespace {

// Value: what arithmetic is done in. A vector holds kLanes<Value> elements of kBytes each.
template <typename Stored>
struct Format {
  using Value = Stored;
  static constexpr std::size_t kBytes = sizeof(Stored);
  static constexpr bool kReal = false;
  RING_INLINE static Vector<Stored> load(const std::byte* at) { return load_vector<Vector<Stored>>(at); }
  RING_INLINE static void store(std::byte* at, Vector<Stored> v) { store_vector(at, v); }
};

template <typename Real>
struct RealFormat {
  using Value = Real;
  static constexpr std::size_t kBytes = sizeof(Real);
  static constexpr bool kReal = true;
  RING_INLINE static Vector<Real> load(const std::byte* at) { return load_vector<Vector<Real>>(at); }
  RING_INLINE static void store(std::byte* at, Vector<Real> v) { store_vector(at, canonical(v)); }
};
template <>
struct Format<float> : RealFormat<float> {};
template <>
struct Format<double> : RealFormat<double> {};

template <>
struct Format<Float16> {
  using Value = float;
  static constexpr std::size_t kBytes = 2;
  static constexpr bool kReal = true;
  RING_INLINE static Floats load(const std::byte* at) { return load_float16(at); }
  RING_INLINE static void store(std::byte* at, Floats v) { store_float16(at, canonical(v)); }
};

template <>
struct Format<BFloat16> {
  using Value = float;
  static constexpr std::size_t kBytes = 2;
  static constexpr bool kReal = true;
  RING_INLINE static Floats load(const std::byte* at) { return load_bfloat16(at); }
  RING_INLINE static void store(std::byte* at, Floats v) { store_bfloat16(at, canonical(v)); }
};

}  // namespace
}  // namespace ring::kernel::RING_ISA
