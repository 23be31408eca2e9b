// How often this thread has allocated: the operators of the whole test program count.
#pragma once

#include <cstddef>  // for size_t

namespace ring::testing {

[[nodiscard]] std::size_t allocations_of_this_thread() noexcept;

}  // namespace ring::testing
