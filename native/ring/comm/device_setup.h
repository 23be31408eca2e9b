// From a device number to a decision and, where it is NCCL, a connected group. Collective over the host ring.
#pragma once

#include <memory>  // for unique_ptr
#include <string>  // for string

#include "ring/comm/communicator.h"
#include "ring/comm/device_communicator.h"
#include "ring/nccl/group.h"

namespace ring::comm {

struct DeviceSetup {
  nccl::DevicePtr device;
  std::unique_ptr<nccl::Group> group;  // null: staged
  std::string reason;
};

// `stop` is asked while waiting. A rank that fails alone tells the others by ending the host ring.
[[nodiscard]] Result<DeviceSetup> set_up_device(Communicator& host, const DeviceOptions& options,
                                                const Engine::Check* cancelled, const nccl::Stop& stop);

}  // namespace ring::comm
