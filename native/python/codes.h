// Codes that Python gives for element types and operations. Raise ConfigError; need the GIL.
#pragma once

#include <string>  // for string, to_string

#include "raise.h"
#include "ring/base/dtype.h"

namespace ring::python {

template <typename Enum>
Enum from_code(int code, int end, const char* what) {
  if (code < 0 || code >= end) {
    raise({Code::kInvalidArgument, std::string("unknown ") + what + " code " + std::to_string(code)});
  }
  return static_cast<Enum>(code);
}

inline DType dtype_from(int code) {
  return from_code<DType>(code, kNumDTypes, "dtype");
}
inline ReduceOp op_from(int code) {
  return from_code<ReduceOp>(code, kNumReduceOps, "op");
}

}  // namespace ring::python
