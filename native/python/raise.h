// The only place that turns a Status into a Python exception. All of it needs the GIL.
#pragma once

#include <utility>  // for move

#include "ring/base/status.h"

namespace ring::python {

// Throws the class of sparkdl_ring.errors that belongs to the code, with rank and host set.
[[noreturn]] void raise(const Status& status);

inline void raise_if_failed(const Status& status) {
  if (!status) raise(status);
}

template <typename T>
[[nodiscard]] T value_or_raise(Result<T> result) {
  if (!result) raise(result.status());
  return std::move(result).value();
}

// Throws TimeoutError: the caller's own patience ended, the communicator lives.
[[noreturn]] void raise_timeout(const char* message);

// Throws the Python exception that is set, if one is.
void raise_if_interrupted();

// Throws what a signal handler raised (KeyboardInterrupt), if one did.
void raise_pending_signals();

}  // namespace ring::python
