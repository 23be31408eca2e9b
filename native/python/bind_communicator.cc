#include <pybind11/pybind11.h>
#include <pybind11/stl.h>  // for map, vector

#include <cstdint>  // for uintptr_t
#include <string>   // for string, to_string
#include <utility>  // for move
#include <vector>   // for vector

#include "bind.h"
#include "raise.h"
#include "ring/comm/communicator.h"
#include "ring/transport/inproc/group.h"
#include "work.h"

namespace ring::python {
namespace {

namespace py = pybind11;
using comm::Communicator;

const std::byte* readable(std::uintptr_t address) {
  return reinterpret_cast<const std::byte*>(address);
}
std::byte* writable(std::uintptr_t address) {
  return reinterpret_cast<std::byte*>(address);
}

template <typename Enum>
Enum from_code(int code, int end, const char* what) {
  if (code < 0 || code >= end) {
    raise({Code::kInvalidArgument, std::string("unknown ") + what + " code " + std::to_string(code)});
  }
  return static_cast<Enum>(code);
}

DType dtype_from(int code) {
  return from_code<DType>(code, kNumDTypes, "dtype");
}
ReduceOp op_from(int code) {
  return from_code<ReduceOp>(code, kNumReduceOps, "op");
}

Work work_of(const Communicator& communicator, Communicator::Submitted submitted) {
  return {value_or_raise(std::move(submitted)), communicator};
}

Work allreduce(Communicator& self, std::uintptr_t send, std::uintptr_t recv, std::uint64_t count, int dtype,
               int op, double timeout_s, std::string label) {
  const backend::Reduction what{readable(send), writable(recv), dtype_from(dtype), op_from(op)};
  return work_of(self, self.allreduce(what, count, {timeout_s, std::move(label)}));
}

Work reducescatter(Communicator& self, std::uintptr_t send, std::uintptr_t recv, backend::Counts counts,
                   int dtype, int op, double timeout_s, std::string label) {
  const backend::Reduction what{readable(send), writable(recv), dtype_from(dtype), op_from(op)};
  return work_of(self, self.reducescatter(what, std::move(counts), {timeout_s, std::move(label)}));
}

Work allgather(Communicator& self, std::uintptr_t send, std::uintptr_t recv, backend::Counts counts,
               int dtype, double timeout_s, std::string label) {
  return work_of(self, self.allgather(readable(send), writable(recv), std::move(counts), dtype_from(dtype),
                                      {timeout_s, std::move(label)}));
}

Work broadcast(Communicator& self, std::uintptr_t buffer, std::uint64_t count, int dtype, int root,
               double timeout_s, std::string label) {
  return work_of(
      self, self.broadcast(writable(buffer), count, dtype_from(dtype), root, {timeout_s, std::move(label)}));
}

Work barrier(Communicator& self, double timeout_s, std::string label) {
  return work_of(self, self.barrier({timeout_s, std::move(label)}));
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

void def_collectives(py::class_<Communicator>& type) {
  type.def("allreduce", &allreduce, py::arg("send"), py::arg("recv"), py::arg("count"), py::arg("dtype"),
           py::arg("op"), py::arg("timeout_s"), py::arg("label") = "")
      .def("reducescatter", &reducescatter, py::arg("send"), py::arg("recv"), py::arg("counts"),
           py::arg("dtype"), py::arg("op"), py::arg("timeout_s"), py::arg("label") = "")
      .def("allgather", &allgather, py::arg("send"), py::arg("recv"), py::arg("counts"), py::arg("dtype"),
           py::arg("timeout_s"), py::arg("label") = "")
      .def("broadcast", &broadcast, py::arg("buffer"), py::arg("count"), py::arg("dtype"), py::arg("root"),
           py::arg("timeout_s"), py::arg("label") = "")
      .def("barrier", &barrier, py::arg("timeout_s"), py::arg("label") = "");
}

}  // namespace

void bind_communicator(py::module_& module) {
  py::class_<Communicator> type(
      module, "Communicator",
      "Collectives of one group of ranks, run first in, first out by one progress thread.");
  type.def_property_readonly("rank", &Communicator::rank)
      .def_property_readonly("size", &Communicator::size)
      .def_property_readonly("transports", &Communicator::transports)
      .def("abort", &Communicator::abort, py::arg("reason"))
      .def("close", &Communicator::close, py::call_guard<py::gil_scoped_release>());
  def_collectives(type);
  module.def("inproc_group", &inproc_group, py::arg("size"),
             "Communicators in this process, one for each thread that plays a rank.");
}

}  // namespace ring::python
