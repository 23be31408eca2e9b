#include <pybind11/pybind11.h>
#include <pybind11/stl.h>  // for map

#include <map>     // for map
#include <string>  // for string

#include "bind.h"
#include "ring/base/protocol.h"

namespace ring::python {
namespace {

// What this very file was compiled for; kernels chosen at run time would be told here too.
std::string instruction_sets() {
  std::string sets;
#if defined(__SSE2__)
  sets += "sse2 ";
#endif
#if defined(__AVX2__)
  sets += "avx2 ";
#endif
#if defined(__AVX512F__)
  sets += "avx512f ";
#endif
#if defined(__ARM_NEON)
  sets += "neon ";
#endif
  if (!sets.empty()) sets.pop_back();
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
  module.def("build_info", &build_info, "Compiler, flags and instruction sets of this build.");
}

}  // namespace ring::python
