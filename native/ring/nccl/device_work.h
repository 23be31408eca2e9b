// DeviceWork: a collective on device memory under way. Nothing here blocks; any thread may ask.
// It is done once its last event has passed on the device. That alone proves nothing: an aborted collective
// passes its event too, hence the fate is always looked at after the event, and was sealed before the abort.
#pragma once

#include <atomic>   // for atomic
#include <memory>   // for shared_ptr
#include <string>   // for string
#include <utility>  // for move

#include "ring/backend/work.h"
#include "ring/base/status.h"
#include "ring/nccl/fate.h"
#include "ring/nccl/handles.h"

namespace ring::nccl {

class DeviceWork {
 public:
  // By NCCL: all is launched, `started` and `ended` are recorded. `agreement` (may be null) tells when all
  // ranks have asked for the same.
  DeviceWork(std::string name, double timeout_s, DevicePtr device, OwnedEvent started, OwnedEvent ended,
             std::shared_ptr<const Fate> fate, backend::WorkPtr agreement);
  // Staged through host memory: `ended` is recorded when `host` is done.
  DeviceWork(std::string name, double timeout_s, DevicePtr device, std::shared_ptr<OwnedEvent> ended,
             backend::WorkPtr host);

  // True once `order` may be called: all is queued on the device, or it has failed.
  [[nodiscard]] bool launched_for(double seconds) const;
  // Makes what is queued on `stream` from now on wait for the result. Ok is no promise: see `status`.
  [[nodiscard]] Status order(StreamHandle stream) const;
  // The result is there, or it has failed.
  [[nodiscard]] bool done() const;
  // What became of it; ok while unknown.
  [[nodiscard]] Status status() const;
  // True from when the device began with it and all ranks are known to take part.
  [[nodiscard]] bool started() const;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] double timeout_s() const noexcept { return timeout_s_; }

 private:
  [[nodiscard]] bool passed(const OwnedEvent& event) const;
  [[nodiscard]] Status failed(const Status& cause) const;

  const std::string name_;
  const double timeout_s_;
  const DevicePtr device_;
  const OwnedEvent started_;
  const std::shared_ptr<OwnedEvent> ended_;
  const std::shared_ptr<const Fate> fate_;  // null when staged
  const backend::WorkPtr host_;             // null when by NCCL
  const backend::WorkPtr agreement_;
  mutable std::atomic<bool> succeeded_{false};
};

using DeviceWorkPtr = std::shared_ptr<DeviceWork>;

}  // namespace ring::nccl
