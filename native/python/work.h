// The Python Work: keeps its communicator alive, because the progress thread still writes into the buffers.
#pragma once

#include "ring/backend/work.h"
#include "ring/comm/communicator.h"

namespace ring::python {

struct Work {
  backend::WorkPtr state;
  comm::Communicator communicator;
};

}  // namespace ring::python
