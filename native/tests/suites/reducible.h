// The types and operations that every reduction is tested with.
#pragma once

#include "ring/base/dtype.h"

namespace ring::testing {

inline constexpr DType kReducible[] = {DType::kUint8,    DType::kInt32,   DType::kInt64,   DType::kFloat16,
                                       DType::kBFloat16, DType::kFloat32, DType::kFloat64, DType::kInt8,
                                       DType::kInt16,    DType::kUint16,  DType::kUint32,  DType::kUint64};
inline constexpr ReduceOp kOps[] = {ReduceOp::kSum, ReduceOp::kMean, ReduceOp::kMin, ReduceOp::kMax,
                                    ReduceOp::kProduct};

}  // namespace ring::testing
