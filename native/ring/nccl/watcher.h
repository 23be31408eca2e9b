// Watcher: one thread that looks after a group: what NCCL meets in the background, what the host ring meets,
// and works that the device began but does not end. The first of them seals the fate, aborts the group and
// tells the host ring, so that every rank raises one cause. Thread-safety: any thread; close once.
#pragma once

#include <condition_variable>  // for condition_variable
#include <deque>               // for deque
#include <functional>          // for function
#include <memory>              // for shared_ptr
#include <mutex>               // for mutex
#include <thread>              // for thread

#include "ring/nccl/device_work.h"
#include "ring/nccl/fate.h"
#include "ring/nccl/group.h"

namespace ring::nccl {

// The host ring, as far as it matters here. Both may be called from any thread and do not block.
struct HostRing {
  std::function<Status()> failure;          // ok while alive
  std::function<void(const Status&)> fail;  // tells every rank
};

class Watcher {
 public:
  // `group` must outlive the watcher.
  Watcher(Group& group, HostRing host, std::shared_ptr<Fate> fate);
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;
  ~Watcher();  // close

  // Looks after a launched work until it is done.
  void add(DeviceWorkPtr work);
  // A launch failed: ends everything. Returns the cause that all ranks name, after a short wait for it.
  [[nodiscard]] Status report(Group::Fault fault);
  // Ends the thread.
  void close();

 private:
  void run();
  [[nodiscard]] bool look();
  void settle(const Group::Fault& fault);
  [[nodiscard]] Status overdue();

  Group& group_;
  const HostRing host_;
  const std::shared_ptr<Fate> fate_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool closing_ = false;
  Group::Fault reported_;
  std::deque<DeviceWorkPtr> flying_;     // first in, first out: one stream runs them
  Deadline::Clock::time_point begun_{};  // when the first of them was seen to have started
  bool has_begun_ = false;
  std::unique_ptr<std::thread> thread_;
};

}  // namespace ring::nccl
