// One function for each topic of the module.
#pragma once

#include <pybind11/pybind11.h>  // for module_

namespace ring::python {

void bind_work(pybind11::module_& module);
void bind_communicator(pybind11::module_& module);
void bind_listener(pybind11::module_& module);
void bind_build(pybind11::module_& module);

}  // namespace ring::python
