#include <pybind11/pybind11.h>

#include <cstdint>  // for uint64_t
#include <string>   // for string

#include "bind.h"
#include "codes.h"
#include "raise.h"
#include "ring/kernel/reduce.h"
#include "ring/plan/forecast.h"

namespace ring::python {
namespace {

namespace py = pybind11;
using plan::Forecast;

Forecast forecast(int ranks, int hosts, std::uint64_t bytes, int dtype, int op, int wire, double alpha_s,
                  double bytes_per_s) {
  if (ranks < 1 || hosts < 1 || hosts > ranks) {
    raise({Code::kInvalidArgument, "a plan needs at least one rank on each of at least one host, got " +
                                       std::to_string(ranks) + " ranks on " + std::to_string(hosts)});
  }
  if (!(alpha_s >= 0) || !(bytes_per_s > 0)) {
    raise({Code::kInvalidArgument,
           "a link takes 0 s or more for a message and moves more than 0 bytes a second"});
  }
  plan::Question question{ranks, hosts, bytes, dtype_from(dtype), {}, dtype_from(wire)};
  question.accumulator = kernel::accumulator(question.dtype, op_from(op));
  plan::Speeds speeds;
  speeds.wire = {alpha_s, bytes_per_s};
  return plan::forecast(question, speeds);
}

}  // namespace

void bind_plan(py::module_& module) {
  py::class_<Forecast>(module, "Forecast", "What an allreduce will do, by the cost model.")
      .def_property_readonly(
          "algorithm",
          [](const Forecast& self) {
            return std::string(self.question.hosts > 1 ? plan::name_of(self.algorithm) : "shared memory");
          })
      .def_property_readonly("seconds", &Forecast::seconds)
      .def_property_readonly("host_bytes", [](const Forecast& self) { return self.host_bytes; })
      .def_property_readonly("text", [](const Forecast& self) { return plan::to_string(self); });
  module.def("forecast", &forecast, py::arg("ranks"), py::arg("hosts"), py::arg("bytes"), py::arg("dtype"),
             py::arg("op"), py::arg("wire"), py::arg("alpha_s"), py::arg("bytes_per_s"),
             "What an allreduce over ranks spread evenly over hosts will do on the given wire.");
}

}  // namespace ring::python
