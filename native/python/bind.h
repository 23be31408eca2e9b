// One function for each topic of the module.
#pragma once

#include <pybind11/pybind11.h>  // for class_, module_

#include "ring/comm/communicator.h"

namespace ring::python {

void bind_work(pybind11::module_& module);
void bind_communicator(pybind11::module_& module);
void bind_collectives(pybind11::class_<comm::Communicator>& type);
void bind_windows(pybind11::class_<comm::Communicator>& type);
void bind_records(pybind11::class_<comm::Communicator>& type);
void bind_memory(pybind11::module_& module);
void bind_listener(pybind11::module_& module);
void bind_plan(pybind11::module_& module);
void bind_device(pybind11::module_& module);
void bind_build(pybind11::module_& module);

}  // namespace ring::python
