// Random bytes of the kernel, fit for nonces and names. Thread-safe.
#pragma once

#include <cstddef>  // for size_t
#include <string>   // for string

#include "ring/base/bytes.h"
#include "ring/base/status.h"

namespace ring {

[[nodiscard]] Status fill_random(MutableBytes bytes);

// `bytes` random bytes, written as twice as many hexadecimal digits.
[[nodiscard]] Result<std::string> random_name(std::size_t bytes);

}  // namespace ring
