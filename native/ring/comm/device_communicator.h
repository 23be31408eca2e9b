// DeviceCommunicator: the collectives of one group of ranks on memory of one device each: by NCCL, or staged
// through the host ring. The user's stream goes in, a DeviceWork comes out; the host does not wait.
// Thread-safety: any thread; calls are launched in the order in which they come. It shares the host
// communicator's fate: what ends one ends the other, and every rank raises the first cause.
#pragma once

#include <cstdint>  // for uint64_t
#include <memory>   // for shared_ptr, unique_ptr
#include <mutex>    // for mutex
#include <string>   // for string
#include <utility>  // for move
#include <vector>   // for vector

#include "ring/comm/communicator.h"
#include "ring/comm/device_census.h"
#include "ring/nccl/collectives.h"
#include "ring/nccl/device_work.h"
#include "ring/nccl/group.h"
#include "ring/nccl/staging.h"
#include "ring/nccl/watcher.h"

namespace ring::comm {

struct DeviceOptions {
  int device = 0;                // ordinal among the visible ones
  std::string mode = "auto";     // auto, nccl or staged
  std::string nccl_path = {};    // a file, instead of looking for it
  std::string nccl_folder = {};  // of the nvidia.nccl package
  std::string cuda_path = {};    // a file, instead of the driver that is there
  bool may_share = false;        // several ranks a device by NCCL (NCCL_MULTI_RANK_GPU_ENABLE)
  // Ranks compare each call by NCCL over the host ring, behind the caller's back: those that disagree or do
  // not come get an error instead of a device that hangs.
  bool checked = true;
  double timeout_s = 120;  // longest wait for all ranks to connect
};

class DeviceCommunicator {
 public:
  // All ranks call it, each with its own device. `cancelled` (may be null) is asked while waiting.
  [[nodiscard]] static Result<std::shared_ptr<DeviceCommunicator>> connect(Communicator host,
                                                                           const DeviceOptions& options,
                                                                           const Engine::Check* cancelled);
  DeviceCommunicator(const DeviceCommunicator&) = delete;
  DeviceCommunicator& operator=(const DeviceCommunicator&) = delete;
  ~DeviceCommunicator();  // close, without waiting for peers

  [[nodiscard]] int rank() const noexcept { return host_.rank(); }
  [[nodiscard]] int size() const noexcept { return host_.size(); }
  [[nodiscard]] bool is_staged() const noexcept { return group_ == nullptr; }
  // Why it is staged or not.
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }
  // "cuda:0 (NVIDIA H100, 0000:3b:00.0)"
  [[nodiscard]] std::string device() const { return device_->describe(); }
  [[nodiscard]] int ordinal() const noexcept { return device_->ordinal(); }
  [[nodiscard]] Communicator& host() noexcept { return host_; }

  using Submitted = Result<nccl::DeviceWorkPtr>;
  // `operation` as for the host communicator, its buffers in this device's memory (scales: see the rule in
  // nccl/collectives.h). `stream` is the user's: what is queued there comes first.
  [[nodiscard]] Submitted submit(Operation operation, nccl::StreamHandle stream);

  // Tells NCCL that this memory will be used again and again; 0 where that does nothing. Freed by deregister
  // or close.
  [[nodiscard]] Result<std::uint64_t> register_buffer(std::byte* data, std::uint64_t bytes);
  [[nodiscard]] Status deregister_buffer(std::uint64_t handle);

  // All ranks call it. Those of one color get the communicator of `child`, whose rank orders them; others
  // null.
  [[nodiscard]] Result<std::shared_ptr<DeviceCommunicator>> split(int color, Communicator* child,
                                                                  double timeout_s,
                                                                  const Engine::Check* cancelled);

  // Leaves when what is queued is done, or after `timeout_s`. All ranks call it. Again: does nothing.
  [[nodiscard]] Status close(double timeout_s);

 private:
  DeviceCommunicator(Communicator host, nccl::DevicePtr device, bool checked);
  [[nodiscard]] static std::shared_ptr<DeviceCommunicator> make(Communicator host, nccl::DevicePtr device,
                                                                bool checked);
  [[nodiscard]] Status adopt(std::unique_ptr<nccl::Group> group);
  [[nodiscard]] bool stages(const Operation& operation) const;
  [[nodiscard]] Status admit(const Operation& operation, nccl::StreamHandle stream);
  [[nodiscard]] Submitted submit_staged(Operation operation, nccl::StreamHandle stream);
  [[nodiscard]] Submitted submit_nccl(Operation operation, nccl::StreamHandle stream);
  [[nodiscard]] Result<backend::WorkPtr> agree(Operation operation);
  [[nodiscard]] Result<nccl::OwnedEvent> mark(nccl::StreamHandle stream);

  Communicator host_;
  const nccl::DevicePtr device_;
  const bool checked_;
  std::string reason_;
  const std::shared_ptr<nccl::Fate> fate_ = std::make_shared<nccl::Fate>();

  std::mutex mutex_;
  bool closed_ = false;
  std::uint64_t sequence_ = 0;
  std::unique_ptr<nccl::Group> group_;  // null: staged
  nccl::OwnedStream stream_;
  nccl::OwnedMemory token_;
  std::shared_ptr<nccl::Staging> staging_;  // made when first needed
  std::vector<std::uint64_t> registered_;
  std::unique_ptr<nccl::Watcher> watcher_;  // ends before the group
};

}  // namespace ring::comm
