#include <pybind11/pybind11.h>
#include <pybind11/stl.h>  // for map, optional, vector

#include <optional>     // for optional
#include <string>       // for to_string
#include <string_view>  // for string_view
#include <utility>      // for move
#include <vector>       // for vector

#include "bind.h"
#include "raise.h"
#include "ring/comm/communicator.h"
#include "ring/transport/inproc/group.h"
#include "signals.h"

namespace ring::python {
namespace {

namespace py = pybind11;
using comm::Communicator;

// None on a rank that is not among them.
std::optional<Communicator> new_group(Communicator& self, const std::vector<int>& ranks, double timeout_s,
                                      std::string_view label) {
  const comm::Engine::Check give_up = SignalCheck{};
  Result<std::optional<Communicator>> made = [&] {
    const py::gil_scoped_release release;
    return self.new_group(ranks, {timeout_s, label}, &give_up);
  }();
  raise_if_interrupted();
  return value_or_raise(std::move(made));
}

std::vector<Communicator> inproc_group(int size) {
  if (size < 1) raise({Code::kInvalidArgument, "a group needs at least 1 rank, got " + std::to_string(size)});
  std::vector<Communicator> group;
  auto meshes = value_or_raise(transport::inproc_meshes(size));
  for (auto& mesh : meshes) {
    group.push_back(value_or_raise(Communicator::start(std::move(mesh))));
  }
  return group;
}

}  // namespace

void bind_communicator(py::module_& module) {
  py::class_<Communicator> type(
      module, "Communicator",
      "Collectives of one group of ranks, run first in, first out by one progress thread.");
  type.def_property_readonly("rank", &Communicator::rank)
      .def_property_readonly("size", &Communicator::size)
      .def_property_readonly("transports", &Communicator::transports)
      .def_property_readonly("reasons", &Communicator::reasons)
      .def("new_group", &new_group, py::arg("ranks"), py::arg("timeout_s"), py::arg("label") = "")
      .def("abort", &Communicator::abort, py::arg("reason"))
      .def("close", &Communicator::close, py::call_guard<py::gil_scoped_release>());
  bind_collectives(type);
  bind_windows(type);
  bind_records(type);
  module.def("inproc_group", &inproc_group, py::arg("size"),
             "Communicators in this process, one for each thread that plays a rank.");
}

}  // namespace ring::python
