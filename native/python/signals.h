// Ctrl-C while native code waits without the GIL.
#pragma once

#include <pybind11/pybind11.h>  // for gil_scoped_acquire

#include "ring/base/deadline.h"

namespace ring::python {

// True when a signal handler raised, on Ctrl-C. Takes the GIL, hence only now and then.
class SignalCheck {
 public:
  bool operator()() {
    if (!pause_.passed()) return false;
    pause_ = Deadline::after(kPauseSeconds);
    const pybind11::gil_scoped_acquire acquire;
    return PyErr_CheckSignals() != 0;
  }

 private:
  static constexpr double kPauseSeconds = 0.1;

  Deadline pause_ = Deadline::long_ago();  // a call that need not wait never asks
};

}  // namespace ring::python
