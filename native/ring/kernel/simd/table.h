// Chooses the loop for each type and operation, and fills in the table of this instruction set. Any thread.
#pragma once

#include "ring/kernel/loops.h"
#include "ring/kernel/simd/combine.h"
#include "ring/kernel/simd/mean.h"

namespace ring::kernel::RING_ISA {
namespace {

// Everything but from and op, which choose the loop.
struct Work {
  const Inputs& inputs;
  std::byte* out;
  std::size_t count;
  const Factors& factors;
};

template <typename From, typename To, typename Op>
void run(const Work& work) {
  combine_elements<From, To, Op>(work.inputs, work.out, work.count, work.factors);
}

// Adds and multiplies as `Wrapping`, the unsigned type of the same size.
template <typename Stored, typename Wrapping = Stored>
void run_same(ReduceOp op, const Work& work) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kMean:
      return run<Wrapping, Wrapping, Sum>(work);
    case ReduceOp::kProduct:
      return run<Wrapping, Wrapping, Product>(work);
    case ReduceOp::kMin:
      return run<Stored, Stored, Min>(work);
    case ReduceOp::kMax:
      return run<Stored, Stored, Max>(work);
  }
}

template <typename Half>
void run_widening(ReduceOp op, const Work& work) {
  if (op == ReduceOp::kProduct) return run<Half, float, Product>(work);
  run<Half, float, Sum>(work);
}

void run_same_type(DType dtype, ReduceOp op, const Work& work) {
  switch (dtype) {
    case DType::kUint8:
      return run_same<std::uint8_t>(op, work);
    case DType::kInt8:
      return run_same<std::int8_t, std::uint8_t>(op, work);
    case DType::kUint16:
      return run_same<std::uint16_t>(op, work);
    case DType::kInt16:
      return run_same<std::int16_t, std::uint16_t>(op, work);
    case DType::kUint32:
      return run_same<std::uint32_t>(op, work);
    case DType::kInt32:
      return run_same<std::int32_t, std::uint32_t>(op, work);
    case DType::kUint64:
      return run_same<std::uint64_t>(op, work);
    case DType::kInt64:
      return run_same<std::int64_t, std::uint64_t>(op, work);
    case DType::kFloat16:
      return run_same<Float16>(op, work);
    case DType::kBFloat16:
      return run_same<BFloat16>(op, work);
    case DType::kFloat32:
      return run_same<float>(op, work);
    case DType::kFloat64:
      return run_same<double>(op, work);
    default:
      return;
  }
}

void combine(DType from, DType to, ReduceOp op, const Inputs& inputs, std::byte* out, std::size_t count,
             const Factors& factors) {
  const Work work{inputs, out, count, factors};
  if (from == to) return run_same_type(from, op, work);
  if (from == DType::kFloat16 && to == DType::kFloat32) return run_widening<Float16>(op, work);
  if (from == DType::kBFloat16 && to == DType::kFloat32) return run_widening<BFloat16>(op, work);
  if (from == DType::kFloat32 && to == DType::kFloat16) return run<float, Float16, Sum>(work);
  if (from == DType::kFloat32 && to == DType::kBFloat16) return run<float, BFloat16, Sum>(work);
}

template <typename Wire, typename Own>
void run_fold(ReduceOp op, const Step& step, std::size_t count) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kMean:
      return fold_elements<Wire, Own, Sum>(step, count);
    case ReduceOp::kProduct:
      return fold_elements<Wire, Own, Product>(step, count);
    case ReduceOp::kMin:
      return fold_elements<Wire, Own, Min>(step, count);
    case ReduceOp::kMax:
      return fold_elements<Wire, Own, Max>(step, count);
  }
}

void fold(DType wire, DType own, ReduceOp op, const std::byte* partial, const std::byte* own_values,
          std::byte* out, std::size_t count, double pre) {
  const Step step{partial, own_values, out, pre};
  if (wire == DType::kFloat32 && own == DType::kFloat16) return run_fold<float, Float16>(op, step, count);
  if (wire == DType::kFloat32 && own == DType::kBFloat16) return run_fold<float, BFloat16>(op, step, count);
  if (wire == DType::kFloat16 && own == DType::kFloat32) return run_fold<Float16, float>(op, step, count);
  if (wire == DType::kBFloat16 && own == DType::kFloat32) return run_fold<BFloat16, float>(op, step, count);
}

// Calls `visitor` with a null pointer of the integer type and one of what its mean is summed in.
template <typename Visitor>
RING_INLINE void visit_integer(DType dtype, Visitor visitor) {
  constexpr std::int64_t* kLong = nullptr;
  constexpr Int128* kLonger = nullptr;
  switch (dtype) {
    case DType::kUint8:
      return visitor(static_cast<std::uint8_t*>(nullptr), kLong);
    case DType::kInt8:
      return visitor(static_cast<std::int8_t*>(nullptr), kLong);
    case DType::kUint16:
      return visitor(static_cast<std::uint16_t*>(nullptr), kLong);
    case DType::kInt16:
      return visitor(static_cast<std::int16_t*>(nullptr), kLong);
    case DType::kUint32:
      return visitor(static_cast<std::uint32_t*>(nullptr), kLong);
    case DType::kInt32:
      return visitor(static_cast<std::int32_t*>(nullptr), kLong);
    case DType::kUint64:
      return visitor(static_cast<std::uint64_t*>(nullptr), kLonger);
    case DType::kInt64:
      return visitor(static_cast<std::int64_t*>(nullptr), kLonger);
    default:
      return;
  }
}

template <typename T>
T pointee(T*);

void sum_wide(DType from, const Inputs& inputs, std::byte* out, std::size_t count) {
  visit_integer(from, [&](auto* type, auto* wide) {
    sum_elements<decltype(pointee(type)), decltype(pointee(wide))>(inputs, out, count);
  });
}

void add_wide(DType own, const std::byte* partial, const std::byte* own_values, std::byte* out,
              std::size_t count) {
  visit_integer(own, [&](auto* type, auto* wide) {
    add_elements<decltype(pointee(type)), decltype(pointee(wide))>(partial, own_values, out, count);
  });
}

void quotient(DType to, const std::byte* sums, std::byte* out, std::size_t count, std::int64_t divisor) {
  visit_integer(to, [&](auto* type, auto* wide) {
    divide_elements<decltype(pointee(type)), decltype(pointee(wide))>(sums, out, count, divisor);
  });
}

constexpr std::size_t kLine = 64;

void stream(const std::byte* in, std::byte* out, std::size_t bytes) {
  std::size_t i = (kLine - reinterpret_cast<std::uintptr_t>(out) % kLine) % kLine;
  if (i > bytes) i = bytes;
  __builtin_memcpy(out, in, i);
  for (; i + kLine <= bytes; i += kLine) stream_line(in + i, out + i);
  __builtin_memcpy(out + i, in + i, bytes - i);
  fence_streams();
}

}  // namespace

const Loops kLoops = {kName, combine, fold, sum_wide, add_wide, quotient, stream};

}  // namespace ring::kernel::RING_ISA
