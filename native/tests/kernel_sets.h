// Runs a test on every instruction set that this machine has.
#pragma once

#include <doctest/doctest.h>

#include <string>  // for string

#include "ring/kernel/instructions.h"

namespace ring::testing {

template <typename Body>
void on_every_set(Body&& body) {
  const std::string best = kernel::instruction_set();
  for (const std::string name : kernel::instruction_sets()) {
    CAPTURE(name);
    REQUIRE(kernel::set_instruction_set(name));
    body();
  }
  REQUIRE(kernel::set_instruction_set(best));
}

}  // namespace ring::testing
