#include <pybind11/pybind11.h>

#include <cstdint>  // for uintptr_t

#include "bind.h"

namespace ring::python {
namespace {

namespace py = pybind11;

// Quicker than asking the array for its interface dictionary: this runs in every call.
std::uintptr_t address_of(const py::object& array) {
  Py_buffer view;
  if (PyObject_GetBuffer(array.ptr(), &view, PyBUF_SIMPLE) != 0) throw py::error_already_set();
  const auto address = reinterpret_cast<std::uintptr_t>(view.buf);
  PyBuffer_Release(&view);
  return address;
}

}  // namespace

void bind_memory(py::module_& module) {
  module.def("address_of", &address_of, py::arg("array"),
             "Address of the first byte of a C-contiguous buffer, read-only ones too.");
}

}  // namespace ring::python
