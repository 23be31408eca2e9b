// `combine`: all inputs at once, in tiles that stay in the first-level cache.
#include <algorithm>    // for min
#include <array>        // for array
#include <type_traits>  // for remove_pointer_t

#include "ring/kernel/element.h"
#include "ring/kernel/operators.h"
#include "ring/kernel/reduce.h"

namespace ring::kernel {
namespace {

constexpr std::size_t kTile = 512;

template <typename Stored, typename Accumulator, typename Fold>
void combine_tile(Fold fold, const std::vector<const std::byte*>& inputs, std::size_t begin,
                  std::size_t count, std::array<Accumulator, kTile>& tile) {
  for (std::size_t i = 0; i < count; ++i) tile[i] = load<Stored>(inputs[0], begin + i);
  for (std::size_t k = 1; k < inputs.size(); ++k) {
    const std::byte* input = inputs[k];
    for (std::size_t i = 0; i < count; ++i) {
      tile[i] = fold(tile[i], static_cast<Accumulator>(load<Stored>(input, begin + i)));
    }
  }
}

template <typename Stored, typename Accumulator, typename Fold>
void combine_elements(Fold fold, bool is_mean, const std::vector<const std::byte*>& inputs, std::byte* out,
                      std::size_t count) {
  const auto divisor = static_cast<Accumulator>(inputs.size());
  std::array<Accumulator, kTile> tile;
  for (std::size_t begin = 0; begin < count; begin += kTile) {
    const std::size_t length = std::min(kTile, count - begin);
    combine_tile<Stored>(fold, inputs, begin, length, tile);
    if (is_mean) {
      for (std::size_t i = 0; i < length; ++i) tile[i] = tile[i] / divisor;
    }
    for (std::size_t i = 0; i < length; ++i) store<Stored>(out, begin + i, tile[i]);
  }
}

}  // namespace

void combine(DType dtype, ReduceOp op, const std::vector<const std::byte*>& inputs, std::byte* out,
             std::size_t count) {
  visit(dtype, [&](auto* type) {
    using Stored = std::remove_pointer_t<decltype(type)>;
    using Value = typename Element<Stored>::Value;
    using Wide = typename Element<Stored>::Wide;
    if (op == ReduceOp::kMean) {
      combine_elements<Stored, Wide>(Sum{}, true, inputs, out, count);
    } else {
      visit(op, [&](auto fold) { combine_elements<Stored, Value>(fold, false, inputs, out, count); });
    }
  });
}

}  // namespace ring::kernel
