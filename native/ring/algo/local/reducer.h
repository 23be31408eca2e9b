// Reducer: combines what several members hold into one place, tile by tile, with the next tile on its way
// from the other processors' caches while this one is computed. Plain value.
#pragma once

#include <cstddef>  // for byte, size_t
#include <cstdint>  // for uintptr_t

#include "ring/base/dtype.h"
#include "ring/kernel/reduce.h"

namespace ring::algo::local {

// Asks for lines that another processor has in its cache; `to_write`: for good, where they are written next.
inline void fetch(const std::byte* from, std::size_t bytes, bool to_write = false) {
  constexpr std::size_t kLineBytes = 64;
  for (std::size_t at = 0; at < bytes; at += kLineBytes) {
#if defined(__x86_64__)
    if (to_write) {
      asm volatile("prefetchw %0" : : "m"(from[at]));
      continue;
    }
#endif
    __builtin_prefetch(from + at, 0);
  }
  static_cast<void>(to_write);
}

struct Reducer {
  DType dtype;
  ReduceOp op;
  const kernel::Scaling& scaling;
  bool wide = false;

  [[nodiscard]] std::size_t out_bytes() const {
    return size_of(wide ? kernel::accumulator(dtype, op) : dtype);
  }

  // `inputs`, by member, are moved to their ends. `own`: the one that needs not be fetched. Calls
  // `after(begin, count)` in elements behind each tile.
  template <typename After>
  void run(const std::byte** inputs, int num_inputs, int own, std::byte* out, std::size_t count,
           bool to_write, After after) const;
  void run(const std::byte** inputs, int num_inputs, int own, std::byte* out, std::size_t count) const {
    run(inputs, num_inputs, own, out, count, false, [](std::size_t, std::size_t) {});
  }

 private:
  // Several tiles of all members fit the first-level cache.
  [[nodiscard]] std::size_t tile(int num_inputs) const {
    const std::size_t bytes = num_inputs <= 3 ? 2048 : num_inputs <= 9 ? 1024 : 512;
    return bytes / size_of(dtype);
  }
  void combine(const std::byte* const* inputs, int num_inputs, std::byte* out, std::size_t count) const {
    if (wide) {
      kernel::combine_wide(dtype, op, inputs, num_inputs, out, count, scaling.pre);
    } else {
      kernel::combine(dtype, op, inputs, num_inputs, out, count, scaling);
    }
  }
};

template <typename After>
void Reducer::run(const std::byte** inputs, int num_inputs, int own, std::byte* out, std::size_t count,
                  bool to_write, After after) const {
  const std::size_t element = size_of(dtype);
  const std::size_t most = tile(num_inputs);
  const auto fetch_all = [&](std::size_t skip, std::size_t length) {
    for (int i = 0; i < num_inputs; ++i) {
      if (i != own) fetch(inputs[i] + skip * element, length * element, to_write);
    }
  };
  fetch_all(0, count < most ? count : most);
  for (std::size_t at = 0; at < count; at += most) {
    const std::size_t left = count - at;
    const std::size_t now = left < most ? left : most;
    fetch_all(now, left - now < most ? left - now : most);
    combine(inputs, num_inputs, out + at * out_bytes(), now);
    after(at, now);
    for (int i = 0; i < num_inputs; ++i) inputs[i] += now * element;
  }
}

}  // namespace ring::algo::local
