// The binary operations on vectors. Integers come unsigned for sum and product, so that they wrap. Pure; any
// thread.
#pragma once

#include "ring/kernel/simd/vector.h"

namespace ring::kernel::RING_ISA {
namespace {

struct Sum {
  template <typename V>
  RING_INLINE static V apply(V a, V b) {
    return a + b;
  }
};

struct Product {
  template <typename V>
  RING_INLINE static V apply(V a, V b) {
    return a * b;
  }
};

// Reals: `a` where it is NaN, `b` where that is (every comparison fails); equal values differ at most by the
// sign of zero, which `zeros` settles.
struct Min {
  template <typename V>
  RING_INLINE static V apply(V a, V b) {
    return a < b ? a : b;
  }
  RING_INLINE static Floats apply(Floats a, Floats b) {
    const auto zeros = (Floats)((Words)a | (Words)b);
    return a == b ? zeros : ((a < b) | (a != a)) ? a : b;
  }
  RING_INLINE static Doubles apply(Doubles a, Doubles b) {
    const auto zeros = (Doubles)((LongWords)a | (LongWords)b);
    return a == b ? zeros : ((a < b) | (a != a)) ? a : b;
  }
};

struct Max {
  template <typename V>
  RING_INLINE static V apply(V a, V b) {
    return a > b ? a : b;
  }
  RING_INLINE static Floats apply(Floats a, Floats b) {
    const auto zeros = (Floats)((Words)a & (Words)b);
    return a == b ? zeros : ((a > b) | (a != a)) ? a : b;
  }
  RING_INLINE static Doubles apply(Doubles a, Doubles b) {
    const auto zeros = (Doubles)((LongWords)a & (LongWords)b);
    return a == b ? zeros : ((a > b) | (a != a)) ? a : b;
  }
};

}  // namespace
}  // namespace ring::kernel::RING_ISA
