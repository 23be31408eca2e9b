#include "raise.h"

#include <pybind11/pybind11.h>  // for error_already_set, module_
#include <pybind11/stl.h>       // for vector

namespace ring::python {
namespace {

namespace py = pybind11;

const char* class_of(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
      return "ConfigError";
    case Code::kPeerLost:
      return "PeerLostError";
    case Code::kCollectiveTimeout:
      return "CollectiveTimeoutError";
    case Code::kMismatch:
      return "MismatchError";
    case Code::kRendezvous:
      return "RendezvousError";
    case Code::kRendezvousTimeout:
      return "RendezvousTimeoutError";
    case Code::kMissingLibrary:
      return "MissingDependencyError";
    case Code::kAborted:
    case Code::kSystem:
    case Code::kInternal:
    case Code::kOk:
      break;
  }
  return "CollectiveError";
}

}  // namespace

void raise(const Status& status) {
  const py::object error_class = py::module_::import("sparkdl_ring.errors").attr(class_of(status.code()));
  py::dict details;
  if (status.rank() >= 0) details["rank"] = status.rank();
  if (!status.missing().empty()) details["missing"] = py::tuple(py::cast(status.missing()));
  if (!status.host().empty()) details["host"] = status.host();
  const py::object error = error_class(status.report(), **details);
  PyErr_SetObject(error_class.ptr(), error.ptr());
  throw py::error_already_set();
}

void raise_timeout(const char* message) {
  PyErr_SetString(PyExc_TimeoutError, message);
  throw py::error_already_set();
}

void raise_if_interrupted() {
  if (PyErr_Occurred() != nullptr) throw py::error_already_set();
}

void raise_pending_signals() {
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

}  // namespace ring::python
