#include <pybind11/pybind11.h>
#include <pybind11/stl.h>  // for vector

#include <memory>   // for make_unique, unique_ptr
#include <string>   // for string
#include <utility>  // for move
#include <vector>   // for vector

#include "bind.h"
#include "raise.h"
#include "ring/comm/communicator.h"
#include "ring/transport/listener.h"
#include "signals.h"

namespace ring::python {
namespace {

namespace py = pybind11;
using comm::Communicator;
using transport::ConnectOptions;
using transport::Listener;
using transport::tcp::TcpOptions;

std::unique_ptr<Listener> open(std::string host, std::string wish, std::string host_id,
                               const TcpOptions& tcp) {
  transport::ListenOptions options(std::move(host), std::move(wish), std::move(host_id));
  options.tcp = tcp;
  return std::make_unique<Listener>(value_or_raise(Listener::open(options)));
}

Result<Communicator> meet(Listener& self, const ConnectOptions& options) {
  const py::gil_scoped_release release;
  auto mesh = self.connect(options);
  if (!mesh) return mesh.status();
  return Communicator::start(std::move(mesh).value());
}

Communicator connect(Listener& self, int rank, const std::vector<py::bytes>& addresses, std::string run_id,
                     std::uint64_t generation, const py::bytes& secret, double timeout_s,
                     std::vector<std::string> hosts) {
  if (!(timeout_s > 0)) raise({Code::kInvalidArgument, "connect: timeout_s must be above 0"});
  ConnectOptions options;
  options.rank = rank;
  options.addresses.assign(addresses.begin(), addresses.end());
  options.run_id = std::move(run_id);
  options.generation = generation;
  options.secret = secret;
  options.hosts = std::move(hosts);
  options.deadline = Deadline::after(timeout_s);
  options.cancelled = SignalCheck{};
  auto met = meet(self, options);
  raise_if_interrupted();
  return value_or_raise(std::move(met));
}

}  // namespace

void bind_listener(py::module_& module) {
  py::class_<TcpOptions>(module, "TcpOptions", "How the TCP links of one rank are made.")
      .def(py::init([](std::string port_range, bool tls, int streams, int socket_buffer_bytes) {
             return TcpOptions{std::move(port_range), tls, streams, socket_buffer_bytes};
           }),
           py::kw_only(), py::arg("port_range") = "", py::arg("tls") = false, py::arg("streams") = 1,
           py::arg("socket_buffer_bytes") = 0);
  py::class_<Listener>(module, "Listener",
                       "The listening end of one rank, open from choice of port to connection.")
      .def(py::init(&open), py::arg("host"), py::arg("transport") = "auto", py::arg("host_id") = "",
           py::arg("tcp") = TcpOptions())
      .def_property_readonly("address", [](const Listener& self) { return py::bytes(self.address()); })
      .def("connect", &connect, py::arg("rank"), py::arg("addresses"), py::arg("run_id"),
           py::arg("generation"), py::arg("secret"), py::arg("timeout_s"),
           py::arg("hosts") = std::vector<std::string>(),
           "Meets all ranks; raises RendezvousTimeoutError naming who is missing.")
      .def_property_readonly("refusals", [](const Listener& self) { return self.refusals().describe(); })
      .def("close", &Listener::close);
}

}  // namespace ring::python
