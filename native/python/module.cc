// sparkdl_ring._native: the typed face is sparkdl_ring/_native.pyi.
#include <pybind11/pybind11.h>  // for PYBIND11_MODULE

#include "bind.h"

PYBIND11_MODULE(_native, module) {
  module.doc() = "Native collectives of sparkdl_ring. Use sparkdl_ring.comm, not this module.";
  ring::python::bind_build(module);
  ring::python::bind_memory(module);
  ring::python::bind_plan(module);
  ring::python::bind_work(module);
  ring::python::bind_communicator(module);
  ring::python::bind_device(module);
#if RING_HAS_LISTENER
  ring::python::bind_listener(module);
#endif
}
