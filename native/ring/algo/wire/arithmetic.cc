#include "ring/algo/wire/arithmetic.h"

#include <algorithm>  // for min
#include <cmath>      // for isfinite
#include <cstring>    // for memcpy

namespace ring::algo::wire {
namespace {

const std::byte* bytes_of(const float* values) {
  return reinterpret_cast<const std::byte*>(values);
}
std::byte* bytes_of(float* values) {
  return reinterpret_cast<std::byte*>(values);
}

bool sums(ReduceOp op) {
  return op == ReduceOp::kSum || op == ReduceOp::kMean;
}

}  // namespace

Arithmetic::Arithmetic(const Values& values)
    : values_(values),
      raw_(compresses() ? values.wire : values.from),
      partial_(kernel::accumulator(values.wire, values.op)),
      fold_op_(values.op == ReduceOp::kMean ? ReduceOp::kSum : values.op) {
  if (compresses()) partial_ = values.wire;  // a ring of 16 bits each way
  if (!sums(values.op)) values_.residual = nullptr;
}

const std::byte* Arithmetic::contribution(std::uint64_t offset, std::size_t count, std::byte* space) {
  if (is_direct()) return values_.own + offset * size_of(values_.from);
  round(offset, count, space);
  return space;
}

// round(prescale * own + residual); what that loses is the new residual.
void Arithmetic::round(std::uint64_t offset, std::size_t count, std::byte* out) {
  const std::byte* own = values_.own + offset * sizeof(float);
  if (values_.residual == nullptr) {
    return kernel::convert(values_.from, values_.wire, own, out, count, values_.prescale);
  }
  const auto factor = static_cast<float>(values_.prescale);
  for (std::size_t done = 0; done < count; done += kTile) {
    const std::size_t length = std::min(kTile, count - done);
    float* residual = values_.residual + offset + done;
    std::byte* rounded = out + done * size_of(values_.wire);
    std::memcpy(exact_.data(), own + done * sizeof(float), length * sizeof(float));
    for (std::size_t i = 0; i < length; ++i) exact_[i] = exact_[i] * factor + residual[i];
    kernel::convert(DType::kFloat32, values_.wire, bytes_of(exact_.data()), rounded, length);
    for (std::size_t i = 0; i < length; ++i) residual[i] = 0;
    keep(exact_.data(), rounded, offset + done, length, 1);
  }
}

// residual += (exact - rounded) / unit. What is not finite cannot be made up for and is not kept.
void Arithmetic::keep(const float* exact, const std::byte* rounded, std::uint64_t offset, std::size_t count,
                      double unit) {
  kernel::convert(values_.wire, DType::kFloat32, rounded, bytes_of(back_.data()), count);
  float* residual = values_.residual + offset;
  const auto per_unit = static_cast<float>(1 / unit);
  for (std::size_t i = 0; i < count; ++i) {
    const float lost = (exact[i] - back_[i]) * per_unit;
    residual[i] += std::isfinite(lost) ? lost : 0.0F;
  }
}

void Arithmetic::combine(const std::byte* const* contributions, int num, std::uint64_t offset,
                         std::size_t count, std::byte* out) {
  const DType type = result();
  if (raw_ == type && values_.residual == nullptr) {
    return kernel::combine(type, values_.op, contributions, num, out, count, values_.scaling);
  }
  std::array<const std::byte*, kMostInputs> inputs{};
  for (std::size_t done = 0; done < count; done += kTile) {
    const std::size_t length = std::min(kTile, count - done);
    for (std::size_t i = 0; i < static_cast<std::size_t>(num); ++i) {
      inputs[i] = contributions[i] + done * size_of(raw_);
    }
    std::byte* place = out + done * size_of(type);
    if (values_.residual != nullptr) {
      combine_keeping(inputs.data(), num, offset + done, length, place);
    } else {
      fold_all(inputs.data(), num, length, wide_.data());
      kernel::finish(partial_, type, wide_.data(), place, length, values_.scaling);
    }
  }
}

// One tile of compressed values: the same bits as without a residual, and what they lack.
void Arithmetic::combine_keeping(const std::byte* const* inputs, int num, std::uint64_t offset,
                                 std::size_t count, std::byte* out) {
  std::byte* exact = bytes_of(exact_.data());
  kernel::combine_wide(raw_, values_.op, inputs, num, exact, count, values_.scaling.pre);
  kernel::finish(DType::kFloat32, DType::kFloat32, exact, exact, count, values_.scaling);
  kernel::combine(raw_, values_.op, inputs, num, out, count, values_.scaling);
  if (keeps_result_loss_) keep(exact_.data(), out, offset, count, result_unit());
}

// One tile of what is wide already.
void Arithmetic::fold_all(const std::byte* const* contributions, int num, std::size_t count, std::byte* out) {
  std::memcpy(out, contributions[0], count * size_of(partial_));
  for (int i = 1; i < num; ++i) fold_partials(out, contributions[i], 0, out, count);
}

void Arithmetic::round_sum(const float* exact, double unit, std::uint64_t offset, std::size_t count,
                           std::byte* out) {
  kernel::convert(DType::kFloat32, values_.wire, bytes_of(exact), out, count);
  keep(exact, out, offset, count, unit);
}

double Arithmetic::result_unit() const {
  const auto& scaling = values_.scaling;
  return scaling.pre * scaling.post / static_cast<double>(scaling.divisor);
}

void Arithmetic::fold_first(const std::byte* one, const std::byte* other, std::uint64_t offset,
                            std::byte* out, std::size_t count) {
  const double pre = values_.scaling.pre;
  if (!compresses() && raw_ == partial_ && pre == 1) {
    return fold_partials(one, other, offset, out, count);
  }
  const std::byte* inputs[] = {one, other};
  if (!compresses()) return kernel::combine_wide(raw_, values_.op, inputs, 2, out, count, pre);
  const DType sum = kernel::accumulator(raw_, values_.op);
  for (std::size_t done = 0; done < count; done += kTile) {
    const std::size_t length = std::min(kTile, count - done);
    const std::size_t at = done * size_of(raw_);
    const std::byte* tile[] = {one + at, other + at};
    kernel::combine_wide(raw_, values_.op, tile, 2, bytes_of(exact_.data()), length, pre);
    if (values_.residual == nullptr) {
      kernel::convert(sum, partial_, bytes_of(exact_.data()), out + at, length);
    } else {
      round_sum(exact_.data(), pre, offset + done, length, out + at);
    }
  }
}

void Arithmetic::fold(const std::byte* partial, const std::byte* contribution, std::uint64_t offset,
                      std::byte* out, std::size_t count) {
  const double pre = values_.scaling.pre;
  if (values_.residual != nullptr) return fold_keeping(partial, contribution, pre, offset, out, count);
  const ReduceOp op = raw_ == partial_ ? fold_op_ : values_.op;
  kernel::fold(partial_, raw_, op, partial, contribution, pre, out, count);
}

void Arithmetic::fold_partials(const std::byte* one, const std::byte* other, std::uint64_t offset,
                               std::byte* out, std::size_t count) {
  if (values_.residual != nullptr) return fold_keeping(one, other, 1, offset, out, count);
  kernel::fold(partial_, partial_, fold_op_, one, other, 1, out, count);
}

// Compressed: round(one + factor * other), and what that loses.
void Arithmetic::fold_keeping(const std::byte* one, const std::byte* other, double factor,
                              std::uint64_t offset, std::byte* out, std::size_t count) {
  for (std::size_t done = 0; done < count; done += kTile) {
    const std::size_t length = std::min(kTile, count - done);
    const std::size_t at = done * size_of(partial_);
    std::byte* exact = bytes_of(exact_.data());
    kernel::convert(partial_, DType::kFloat32, one + at, exact, length);
    kernel::fold(DType::kFloat32, partial_, fold_op_, exact, other + at, factor, exact, length);
    round_sum(exact_.data(), values_.scaling.pre, offset + done, length, out + at);
  }
}

void Arithmetic::widen(const std::byte* contribution, std::byte* out, std::size_t count) {
  const double pre = values_.scaling.pre;
  if (raw_ != partial_) {
    kernel::combine_wide(raw_, values_.op, &contribution, 1, out, count, pre);
  } else if (pre != 1) {
    kernel::convert(raw_, partial_, contribution, out, count, pre);
  } else {
    std::memcpy(out, contribution, count * size_of(raw_));
  }
}

void Arithmetic::finish(const std::byte* partial, std::uint64_t offset, std::byte* out, std::size_t count) {
  const DType type = result();
  if (partial_ == type && !values_.scaling.finishes()) {
    if (partial != out) std::memmove(out, partial, count * size_of(type));
    return;
  }
  if (values_.residual == nullptr) {
    return kernel::finish(partial_, type, partial, out, count, values_.scaling);
  }
  for (std::size_t done = 0; done < count; done += kTile) {
    const std::size_t length = std::min(kTile, count - done);
    const std::size_t at = done * size_of(type);
    std::byte* exact = bytes_of(exact_.data());
    kernel::convert(type, DType::kFloat32, partial + at, exact, length);
    kernel::finish(DType::kFloat32, DType::kFloat32, exact, exact, length, values_.scaling);
    round_sum(exact_.data(), result_unit(), offset + done, length, out + at);
  }
}

void Arithmetic::deliver(const std::byte* results, std::uint64_t offset, std::size_t count) const {
  if (compresses()) {
    kernel::convert(values_.wire, values_.to, results, place(offset), count);
  }
}

}  // namespace ring::algo::wire
