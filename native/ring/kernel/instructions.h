// Which instruction set the kernels use. Any thread; chosen at the first use, for the whole process.
#pragma once

#include <string_view>  // for string_view
#include <vector>       // for vector

namespace ring::kernel {

// "avx512", "avx2", "sse2", "neon" or "portable".
[[nodiscard]] const char* instruction_set() noexcept;

// All that this build holds and this processor runs, best first.
[[nodiscard]] std::vector<const char*> instruction_sets();

// Changes the choice, for tests and benchmarks; false where `name` is not one of `instruction_sets`.
[[nodiscard]] bool set_instruction_set(std::string_view name) noexcept;

}  // namespace ring::kernel
