// The loops of the chosen instruction set. Any thread.
#pragma once

#include "ring/kernel/loops.h"

namespace ring::kernel {

[[nodiscard]] const Loops& loops() noexcept;

}  // namespace ring::kernel
