#include "ring/comm/device_communicator.h"

#include "ring/comm/device_setup.h"
#include "ring/comm/fingerprint.h"

namespace ring::comm {
namespace {

using nccl::DeviceWork;

constexpr double kDestructorPatienceSeconds = 1;

// Ranks that go different ways must not take each other's bytes for their own.
std::string label_of(const Operation& operation, const char* way) {
  return std::string(operation.label) + " [device, " + way + "]";
}

backend::Reduction reduction_of(const Operation& operation) {
  return {operation.send,     operation.recv,      operation.dtype, operation.op,
          operation.prescale, operation.postscale, operation.dtype};
}

backend::Reduction reduction_of(const Member& member, const Operation& operation) {
  return {member.send,        member.recv,         member.dtype, operation.op,
          operation.prescale, operation.postscale, member.dtype};
}

backend::Counts in_bytes(backend::Counts counts, DType dtype) {
  for (auto& count : counts) count *= size_of(dtype);
  return counts;
}

nccl::Group::Fault launch(nccl::Group& group, const Operation& operation, std::byte* token,
                          const nccl::Launch& how) {
  switch (operation.kind) {
    case Kind::kAllreduce:
      return nccl::allreduce(group, {reduction_of(operation)}, {operation.count}, how);
    case Kind::kGroupedAllreduce: {
      std::vector<backend::Reduction> all;
      backend::Counts counts;
      for (const auto& member : operation.members) {
        all.push_back(reduction_of(member, operation));
        counts.push_back(member.count);
      }
      return nccl::allreduce(group, all, counts, how);
    }
    case Kind::kReducescatter:
      return nccl::reducescatter(group, reduction_of(operation), operation.counts, how);
    case Kind::kAllgather:
      return nccl::allgather(group, operation.send, operation.recv,
                             in_bytes(operation.counts, operation.dtype), how);
    case Kind::kBroadcast:
      return nccl::broadcast(group, operation.recv, operation.count * size_of(operation.dtype),
                             operation.root, how);
    case Kind::kAlltoall:
      return nccl::alltoall(group, operation.send, in_bytes(operation.counts, operation.dtype),
                            operation.recv, in_bytes(operation.recv_counts, operation.dtype), how);
    case Kind::kBarrier:
      return nccl::barrier(group, token, how);
    case Kind::kNewGroup:
    case Kind::kAllocate:
    case Kind::kAdopt:
    case Kind::kRelease:
      break;  // made on the host, then `split`
  }
  return {{Code::kInternal, "unknown collective"}, false};
}

Status stage(nccl::Staging& staging, const nccl::Staging::Scene& scene, const Operation& operation) {
  switch (operation.kind) {
    case Kind::kAllreduce:
      return staging.allreduce(scene, reduction_of(operation), operation.count);
    case Kind::kGroupedAllreduce:
      for (const auto& member : operation.members) {
        RING_TRY(staging.allreduce(scene, reduction_of(member, operation), member.count));
      }
      return staging.finish(scene);
    case Kind::kReducescatter:
      return staging.reducescatter(scene, reduction_of(operation), operation.counts);
    case Kind::kAllgather:
      return staging.allgather(scene, operation.send, operation.recv,
                               in_bytes(operation.counts, operation.dtype));
    case Kind::kBroadcast:
      return staging.broadcast(scene, operation.recv, operation.count * size_of(operation.dtype),
                               operation.root);
    case Kind::kAlltoall:
      return staging.alltoall(scene, operation.send, in_bytes(operation.counts, operation.dtype),
                              operation.recv, in_bytes(operation.recv_counts, operation.dtype));
    case Kind::kBarrier:
      RING_TRY(scene.backend.barrier(scene.call));
      return staging.finish(scene);
    case Kind::kNewGroup:
    case Kind::kAllocate:
    case Kind::kAdopt:
    case Kind::kRelease:
      break;
  }
  return {Code::kInternal, "unknown collective"};
}

Status check_factors(const Operation& operation, int size) {
  if (operation.kind == Kind::kGroupedAllreduce) {
    for (const auto& member : operation.members) {
      RING_TRY(nccl::check_factor(reduction_of(member, operation), size));
    }
    return Status::ok();
  }
  return reduces(operation.kind) ? nccl::check_factor(reduction_of(operation), size) : Status::ok();
}

}  // namespace

DeviceCommunicator::DeviceCommunicator(Communicator host, nccl::DevicePtr device, bool checked)
    : host_(std::move(host)), device_(std::move(device)), checked_(checked) {}

std::shared_ptr<DeviceCommunicator> DeviceCommunicator::make(Communicator host, nccl::DevicePtr device,
                                                             bool checked) {
  // In a forked child nothing of it may be touched, not even to free it.
  return {new DeviceCommunicator(std::move(host), std::move(device), checked), [](DeviceCommunicator* last) {
            if (!last->device_->is_forked()) delete last;
          }};
}

Result<std::shared_ptr<DeviceCommunicator>> DeviceCommunicator::connect(Communicator host,
                                                                        const DeviceOptions& options,
                                                                        const Engine::Check* cancelled) {
  if (host.is_forked())
    return Status(Code::kAborted, "a communicator does not survive fork: build one in the child");
  const nccl::Stop stop = [&host, cancelled]() -> Status {
    RING_TRY(host.failure());
    if (cancelled != nullptr && (*cancelled)()) return {Code::kAborted, "interrupted", host.rank()};
    return Status::ok();
  };
  auto setup = set_up_device(host, options, cancelled, stop);
  if (!setup) return setup.status();
  auto made = make(std::move(host), setup.value().device, options.checked);
  made->reason_ = setup.value().reason;
  RING_TRY(made->adopt(std::move(setup.value().group)));
  return made;
}

Status DeviceCommunicator::adopt(std::unique_ptr<nccl::Group> group) {
  if (group == nullptr) return Status::ok();
  auto stream = nccl::make_stream(device_);
  if (!stream) return stream.status();
  auto token = nccl::make_memory(device_, sizeof(double));
  if (!token) return token.status();
  stream_ = std::move(stream).value();
  token_ = std::move(token).value();
  group_ = std::move(group);
  const nccl::HostRing ring{[host = host_] { return host.failure(); },
                            [host = host_](const Status& cause) mutable { host.fail(cause); }};
  watcher_ = std::make_unique<nccl::Watcher>(*group_, ring, fate_);
  return Status::ok();
}

DeviceCommunicator::~DeviceCommunicator() {
  static_cast<void>(close(kDestructorPatienceSeconds));
}

bool DeviceCommunicator::stages(const Operation& operation) const {
  if (is_staged()) return true;
  if (operation.kind == Kind::kGroupedAllreduce) {
    for (const auto& member : operation.members) {
      if (!nccl::reducible_as(member.dtype, operation.op)) return true;
    }
    return false;
  }
  return reduces(operation.kind) && !nccl::reducible_as(operation.dtype, operation.op);
}

Status DeviceCommunicator::admit(const Operation& operation, nccl::StreamHandle stream) {
  if (host_.is_forked())
    return {Code::kAborted, "a communicator does not survive fork: build one in the child"};
  RING_TRY(check(operation, rank(), size()));
  if (closed_) return {Code::kAborted, "the communicator is closed", rank()};
  if (fate_->is_sealed()) return failed(operation, " did not run", fate_->failure());
  const nccl::Current current(*device_);
  int capturing = 0;
  if (device_->api().is_capturing != nullptr) {
    RING_TRY(device_->check(device_->api().is_capturing(stream, &capturing), "cuStreamIsCapturing"));
  }
  if (capturing == 0) return Status::ok();
  return {Code::kInvalidArgument, std::string(name_of(operation.kind)) +
                                      ": the stream is being captured into a CUDA graph; collectives are "
                                      "launched outside of graphs"};
}

DeviceCommunicator::Submitted DeviceCommunicator::submit(Operation operation, nccl::StreamHandle stream) {
  const std::lock_guard lock(mutex_);
  RING_TRY(admit(operation, stream));
  operation.sequence = ++sequence_;
  return stages(operation) ? submit_staged(std::move(operation), stream)
                           : submit_nccl(std::move(operation), stream);
}

// An event behind what is queued on a stream so far.
Result<nccl::OwnedEvent> DeviceCommunicator::mark(nccl::StreamHandle stream) {
  auto event = nccl::make_event(device_);
  if (!event) return event.status();
  const nccl::Current current(*device_);
  RING_TRY(device_->check(device_->api().event_record(event.value().get(), stream), "cuEventRecord"));
  return event;
}

DeviceCommunicator::Submitted DeviceCommunicator::submit_staged(Operation operation,
                                                                nccl::StreamHandle stream) {
  if (!staging_) {
    auto made = nccl::Staging::make(device_);
    if (!made) {
      host_.fail(made.status());  // the others wait for this rank
      return made.status();
    }
    staging_ = std::move(made).value();
  }
  auto marked = mark(stream);
  if (!marked) return marked.status();
  auto event = nccl::make_event(device_);
  if (!event) return event.status();
  const auto ready = std::make_shared<nccl::OwnedEvent>(std::move(marked).value());
  const auto ended = std::make_shared<nccl::OwnedEvent>(std::move(event).value());
  const std::string label = label_of(operation, "staged");
  operation.label = label;
  std::string name = describe(header_of(operation));
  const double timeout_s = operation.timeout_s;
  operation.body = [staging = staging_, operation, ready, ended](backend::Backend& backend,
                                                                 const backend::Interrupt& interrupt,
                                                                 const backend::Call& call) {
    return stage(*staging, {backend, interrupt, call, ready->get(), ended->get()}, operation);
  };
  auto work = host_.submit(std::move(operation));
  if (!work) return work.status();
  return std::make_shared<DeviceWork>(std::move(name), timeout_s, device_, ended, std::move(work).value());
}

// Nobody waits for it: a rank that disagrees or does not come ends the host ring, and so this.
Result<backend::WorkPtr> DeviceCommunicator::agree(Operation operation) {
  if (!checked_ || size() == 1) return backend::WorkPtr();
  operation.body = [](backend::Backend& backend, const backend::Interrupt&, const backend::Call& call) {
    return backend.barrier(call);
  };
  return host_.submit(std::move(operation));
}

DeviceCommunicator::Submitted DeviceCommunicator::submit_nccl(Operation operation,
                                                              nccl::StreamHandle stream) {
  RING_TRY(check_factors(operation, size()));
  const std::string label = label_of(operation, "nccl");
  operation.label = label;
  std::string name = describe(header_of(operation));
  auto ready = mark(stream);
  if (!ready) return ready.status();
  auto agreement = agree(operation);
  if (!agreement) return agreement.status();
  const nccl::Current current(*device_);
  RING_TRY(
      device_->check(device_->api().stream_wait(stream_.get(), ready.value().get(), 0), "cuStreamWaitEvent"));
  auto started = mark(stream_.get());
  if (!started) return started.status();
  auto* token = reinterpret_cast<std::byte*>(token_.get());
  auto fault = launch(*group_, operation, token, {name, Deadline::after(operation.timeout_s), stream_.get()});
  if (!fault.status) return watcher_->report(std::move(fault));
  auto ended = mark(stream_.get());
  if (!ended) return ended.status();
  auto work =
      std::make_shared<DeviceWork>(std::move(name), operation.timeout_s, device_, std::move(started).value(),
                                   std::move(ended).value(), fate_, std::move(agreement).value());
  watcher_->add(work);
  return work;
}

Result<std::uint64_t> DeviceCommunicator::register_buffer(std::byte* data, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (host_.is_forked() || closed_ || group_ == nullptr || bytes == 0) return std::uint64_t{0};
  const auto& place = group_->place();
  if (place.library->api().register_buffer == nullptr) return std::uint64_t{0};
  void* handle = nullptr;
  RING_TRY(group_->call("ncclCommRegister", [&](const nccl::Api& api, nccl::Comm comm) {
    return api.register_buffer(comm, data, bytes, &handle);
  }));
  registered_.push_back(reinterpret_cast<std::uint64_t>(handle));
  return registered_.back();
}

Status DeviceCommunicator::deregister_buffer(std::uint64_t handle) {
  const std::lock_guard lock(mutex_);
  for (auto at = registered_.begin(); at != registered_.end(); ++at) {
    if (*at != handle) continue;
    registered_.erase(at);
    if (closed_ || fate_->is_sealed()) return Status::ok();
    return group_->call("ncclCommDeregister", [&](const nccl::Api& api, nccl::Comm comm) {
      return api.deregister_buffer(comm, reinterpret_cast<void*>(handle));
    });
  }
  return Status::ok();
}

Result<std::shared_ptr<DeviceCommunicator>> DeviceCommunicator::split(int color, Communicator* child,
                                                                      double timeout_s,
                                                                      const Engine::Check* cancelled) {
  const std::lock_guard lock(mutex_);
  if (closed_) return Status(Code::kAborted, "the communicator is closed", rank());
  std::shared_ptr<DeviceCommunicator> made;
  if (child != nullptr) {
    made = make(*child, device_, checked_);
    made->reason_ = reason_;
  }
  if (group_ == nullptr) return made;
  if (!group_->can_split()) return Status(Code::kInvalidArgument, "this NCCL has no ncclCommSplit");
  const nccl::Stop stop = [this, cancelled]() -> Status {
    RING_TRY(host_.failure());
    if (cancelled != nullptr && (*cancelled)()) return {Code::kAborted, "interrupted", rank()};
    return Status::ok();
  };
  const int place = child != nullptr ? child->rank() : 0;
  auto group = group_->split(child != nullptr ? color : nccl::kNoColor, place, place,
                             child != nullptr ? child->size() : 0, Deadline::after(timeout_s), stop);
  if (!group) {
    host_.fail(group.status());  // the others wait for this rank
    return group.status();
  }
  if (made) RING_TRY(made->adopt(std::move(group).value()));
  return made;
}

Status DeviceCommunicator::close(double timeout_s) {
  if (host_.is_forked()) return Status::ok();
  const std::lock_guard lock(mutex_);
  if (closed_) return Status::ok();
  closed_ = true;
  if (group_ == nullptr) return Status::ok();
  watcher_->close();
  for (const auto handle : registered_) {
    static_cast<void>(group_->call("ncclCommDeregister", [&](const nccl::Api& api, nccl::Comm comm) {
      return api.deregister_buffer(comm, reinterpret_cast<void*>(handle));
    }));
  }
  registered_.clear();
  if (fate_->is_sealed()) return Status::ok();
  const nccl::Stop stop = [this]() -> Status {
    const Status failure = host_.failure();
    if (!failure) fate_->seal(failure);  // before the abort, which lets events pass
    return failure;
  };
  Status status = group_->finish(Deadline::after(timeout_s), stop);
  if (!status) {
    fate_->seal(status);
    group_->abort();
  }
  return status;
}

}  // namespace ring::comm
