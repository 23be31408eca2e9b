#include <pybind11/pybind11.h>
#include <pybind11/stl.h>  // for optional

#include <cstdint>      // for uintptr_t
#include <optional>     // for optional
#include <string_view>  // for string_view
#include <utility>      // for move

#include "bind.h"
#include "raise.h"
#include "ring/backend/window.h"
#include "ring/comm/communicator.h"
#include "signals.h"

namespace ring::python {
namespace {

namespace py = pybind11;
using backend::Window;
using comm::Communicator;

// Quicker than asking the array for its interface dictionary: this runs in every call.
std::uintptr_t address_of(const py::object& array) {
  Py_buffer view;
  if (PyObject_GetBuffer(array.ptr(), &view, PyBUF_SIMPLE) != 0) throw py::error_already_set();
  const auto address = reinterpret_cast<std::uintptr_t>(view.buf);
  PyBuffer_Release(&view);
  return address;
}

// Runs `call` without the GIL; Ctrl-C is seen meanwhile.
template <typename Call>
auto without_gil(Call call) {
  const comm::Engine::Check give_up = SignalCheck{};
  auto done = [&] {
    const py::gil_scoped_release release;
    return call(&give_up);
  }();
  raise_if_interrupted();
  return done;
}

Window allocate(Communicator& self, std::size_t bytes, double timeout_s, std::string_view label) {
  return value_or_raise(without_gil(
      [&](const comm::Engine::Check* give_up) { return self.allocate(bytes, {timeout_s, label}, give_up); }));
}

std::optional<Window> adopt(Communicator& self, std::uintptr_t address, std::size_t bytes, double timeout_s,
                            std::string_view label) {
  return value_or_raise(without_gil([&](const comm::Engine::Check* give_up) {
    return self.adopt(reinterpret_cast<std::byte*>(address), bytes, {timeout_s, label}, give_up);
  }));
}

void release(Communicator& self, const Window& window, double timeout_s, std::string_view label) {
  raise_if_failed(without_gil(
      [&](const comm::Engine::Check* give_up) { return self.release(window, {timeout_s, label}, give_up); }));
}

}  // namespace

void bind_windows(py::class_<Communicator>& type) {
  const auto label = py::arg("label") = "";
  type.def("allocate", &allocate, py::arg("bytes"), py::arg("timeout_s"), label)
      .def("adopt", &adopt, py::arg("address"), py::arg("bytes"), py::arg("timeout_s"), label)
      .def("release", &release, py::arg("window"), py::arg("timeout_s"), label);
}

void bind_memory(py::module_& module) {
  py::class_<Window>(module, "Window", "Memory that ranks of one host reduce in place.")
      .def_property_readonly(
          "address", [](const Window& window) { return reinterpret_cast<std::uintptr_t>(window.address); })
      .def_property_readonly("bytes", [](const Window& window) { return window.bytes; });
  module.def("address_of", &address_of, py::arg("array"),
             "Address of the first byte of a C-contiguous buffer, read-only ones too.");
}

}  // namespace ring::python
