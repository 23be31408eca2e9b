#include <pybind11/pybind11.h>
#include <pybind11/stl.h>  // for vector

#include <string>  // for string
#include <vector>  // for vector

#include "bind.h"
#include "ring/comm/communicator.h"

namespace ring::python {
namespace {

namespace py = pybind11;
using comm::Communicator;

constexpr double kNano = 1e-9;

double seconds(std::uint64_t nanoseconds) {
  return static_cast<double>(nanoseconds) * kNano;
}

void add_spent(py::dict& row, const backend::Meter& spent) {
  row["wait_s"] = seconds(spent.wait_ns);
  row["reduce_s"] = seconds(spent.reduce_ns);
  row["wire_sent_bytes"] = spent.sent_bytes;
  row["wire_received_bytes"] = spent.received_bytes;
}

py::dict as_dict(const comm::Record& record) {
  py::dict row;
  row["kind"] = comm::name_of(record.kind);
  row["sequence"] = record.sequence;
  row["group"] = record.group;
  row["label"] = std::string(record.label.data());
  row["dtype"] = name_of(record.dtype);
  row["bytes"] = record.bytes;
  row["start_ns"] = record.start_ns;
  row["end_ns"] = record.is_done ? record.end_ns : 0;
  add_spent(row, record.spent);
  row["inline"] = record.is_inline;
  row["state"] = !record.is_done ? "running" : record.code == Code::kOk ? "done" : "failed";
  return row;
}

py::list as_list(const std::vector<comm::Record>& records) {
  py::list rows;
  for (const auto& record : records) rows.append(as_dict(record));
  return rows;
}

py::dict counters(Communicator& self) {
  py::dict by_kind;
  const auto counters = self.engine().counters();
  for (std::size_t i = 0; i < counters.size(); ++i) {
    if (counters[i].calls == 0) continue;
    py::dict row;
    row["calls"] = counters[i].calls;
    row["bytes"] = counters[i].bytes;
    row["total_s"] = seconds(counters[i].total_ns);
    add_spent(row, counters[i].spent);
    by_kind[comm::name_of(static_cast<comm::Kind>(i))] = row;
  }
  return by_kind;
}

}  // namespace

void bind_records(py::class_<Communicator>& type) {
  type.def("stats", &counters)
      .def("recent", [](Communicator& self) { return as_list(self.engine().recent()); })
      .def(
          "trace", [](Communicator& self, std::size_t capacity) { self.engine().trace(capacity); },
          py::arg("capacity"))
      .def("take_trace", [](Communicator& self) { return as_list(self.engine().take_trace()); });
}

}  // namespace ring::python
