#include <pybind11/pybind11.h>
#include <pybind11/stl.h>  // for map

#include <map>     // for map
#include <string>  // for string

#include "bind.h"
#include "ring/base/protocol.h"
#include "ring/kernel/instructions.h"

namespace ring::python {
namespace {

// What the kernels can use here; they use the first.
std::string instruction_sets() {
  std::string sets;
  for (const std::string set : kernel::instruction_sets()) sets += (sets.empty() ? "" : " ") + set;
  return sets;
}

std::map<std::string, std::string> build_info() {
  return {{"compiler", RING_BUILD_COMPILER},
          {"build_type", RING_BUILD_TYPE},
          {"flags", RING_BUILD_FLAGS},
          {"instruction_sets", instruction_sets()},
          {"protocol_version", std::to_string(kProtocolVersion)}};
}

}  // namespace

void bind_build(pybind11::module_& module) {
  module.attr("PROTOCOL_VERSION") = kProtocolVersion;
  module.def("build_info", &build_info,
             "Compiler and flags of this build, and the instruction sets its kernels can use here.");
}

}  // namespace ring::python
