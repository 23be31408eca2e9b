#include <pybind11/pybind11.h>
#include <pybind11/stl.h>  // for optional

#include <algorithm>  // for clamp
#include <chrono>     // for steady_clock
#include <optional>   // for optional

#include "bind.h"
#include "raise.h"
#include "work.h"

namespace ring::python {
namespace {

namespace py = pybind11;
using Clock = std::chrono::steady_clock;

constexpr double kSliceSeconds = 0.1;  // how soon Ctrl-C is seen
constexpr double kForeverSeconds = 1e8;

bool wait_slice(const Work& work, double seconds) {
  const py::gil_scoped_release release;
  return work.state->wait_for(std::clamp(seconds, 0.0, kSliceSeconds));
}

void wait(const Work& work, std::optional<double> timeout_s) {
  const double patience = timeout_s.value_or(kForeverSeconds);
  const auto start = Clock::now();
  while (true) {
    const double left = patience - std::chrono::duration<double>(Clock::now() - start).count();
    if (wait_slice(work, left)) break;
    raise_pending_signals();
    if (work.communicator.is_forked()) {
      raise({Code::kAborted, "this work was submitted before fork; it is done in the parent only"});
    }
    if (left <= kSliceSeconds) raise_timeout("the collective is still running; wait again, or abort");
  }
  raise_if_failed(work.state->status());
}

}  // namespace

void bind_work(py::module_& module) {
  py::class_<Work>(module, "Work",
                   "One submitted collective. Buffers must stay alive and untouched until it is done.")
      .def("wait", &wait, py::arg("timeout_s") = py::none(),
           "Blocks until done; raises what failed. TimeoutError when timeout_s passes first.")
      .def("done", [](const Work& work) { return work.state->done(); });
}

}  // namespace ring::python
