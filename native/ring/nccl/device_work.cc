#include "ring/nccl/device_work.h"

namespace ring::nccl {

DeviceWork::DeviceWork(std::string name, double timeout_s, DevicePtr device, OwnedEvent started,
                       OwnedEvent ended, std::shared_ptr<const Fate> fate, backend::WorkPtr agreement)
    : name_(std::move(name)),
      timeout_s_(timeout_s),
      device_(std::move(device)),
      started_(std::move(started)),
      ended_(std::make_shared<OwnedEvent>(std::move(ended))),
      fate_(std::move(fate)),
      agreement_(std::move(agreement)) {}

DeviceWork::DeviceWork(std::string name, double timeout_s, DevicePtr device,
                       std::shared_ptr<OwnedEvent> ended, backend::WorkPtr host)
    : name_(std::move(name)),
      timeout_s_(timeout_s),
      device_(std::move(device)),
      ended_(std::move(ended)),
      host_(std::move(host)) {}

bool DeviceWork::launched_for(double seconds) const {
  return host_ == nullptr || host_->wait_for(seconds);
}

Status DeviceWork::order(StreamHandle stream) const {
  RING_TRY(status());
  const Current current(*device_);
  return device_->check(device_->api().stream_wait(stream, ended_->get(), 0), "cuStreamWaitEvent");
}

bool DeviceWork::passed(const OwnedEvent& event) const {
  const Current current(*device_);
  return device_->api().event_query(event.get()) !=
         kCudaNotReady;  // a device that failed will never be ready
}

bool DeviceWork::started() const {
  return host_ == nullptr && (agreement_ == nullptr || agreement_->done()) && passed(started_);
}

bool DeviceWork::done() const {
  if (succeeded_.load(std::memory_order_acquire)) return true;
  if (host_ != nullptr) {
    if (!host_->done()) return false;
    if (!host_->status()) return true;
    return passed(*ended_);
  }
  bool ended = passed(*ended_);
  if (fate_->is_sealed()) return true;
  if (agreement_ != nullptr) {
    ended = ended && agreement_->done();  // NCCL may well "succeed" where ranks asked for different things
    if (agreement_->done() && !agreement_->status()) return true;
  }
  if (ended) succeeded_.store(true, std::memory_order_release);
  return ended;
}

Status DeviceWork::status() const {
  if (succeeded_.load(std::memory_order_acquire)) return Status::ok();
  if (host_ != nullptr) return host_->done() ? host_->status() : Status::ok();
  if (fate_->is_sealed()) return failed(fate_->failure());
  return agreement_ != nullptr && agreement_->done() ? agreement_->status() : Status::ok();
}

Status DeviceWork::failed(const Status& cause) const {
  return Status(cause.code(), name_ + " failed", cause.rank(), cause.host()).because(cause);
}

}  // namespace ring::nccl
