// The table of loops that each instruction set fills in. Any thread. Holds only plain data: the units that
// fill it are compiled with other flags, and a function defined here could be linked from one of them into
// the rest.
#pragma once

#include <cstddef>  // for byte, size_t
#include <cstdint>  // for int64_t

#include "ring/base/dtype.h"

namespace ring::kernel {

// Multiplies the first input, the other inputs, and (when `scales`) the result: by `factor`, or where
// `divides` a float64 by 1 / `divisor`.
struct Factors {
  double first;
  double others;
  double factor;
  double divisor;
  bool scales;
  bool divides;
};

// The elements [begin, begin + count) of all inputs, written from the start of `out`.
struct Inputs {
  const std::byte* const* data;
  int num;
  std::size_t begin;
};

struct Loops {
  const char* name;
  // Real types: from in {to, float32 <-> 16 bits}; integer types: from == to. op is never kMean.
  void (*combine)(DType from, DType to, ReduceOp op, const Inputs& inputs, std::byte* out, std::size_t count,
                  const Factors& factors);
  // partial and out of type `wire`, own of another type.
  void (*fold)(DType wire, DType own, ReduceOp op, const std::byte* partial, const std::byte* own_values,
               std::byte* out, std::size_t count, double pre);
  // Integer means: sums in int64 or int128, and their quotients.
  void (*sum_wide)(DType from, const Inputs& inputs, std::byte* out, std::size_t count);
  void (*add_wide)(DType own, const std::byte* partial, const std::byte* own_values, std::byte* out,
                   std::size_t count);
  void (*quotient)(DType to, const std::byte* sums, std::byte* out, std::size_t count, std::int64_t divisor);
  // Past the caches, and fenced.
  void (*stream)(const std::byte* in, std::byte* out, std::size_t bytes);
};

namespace baseline {
extern const Loops kLoops;
}
namespace avx2 {
extern const Loops kLoops;
}
namespace avx512 {
extern const Loops kLoops;
}

}  // namespace ring::kernel
