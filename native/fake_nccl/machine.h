// The devices of a pretended machine, as CUDA_VISIBLE_DEVICES lets this process see them, and the memory
// handed out.
#pragma once

#include <cstddef>  // for size_t
#include <cstdint>  // for uintptr_t
#include <map>      // for map
#include <memory>   // for shared_ptr
#include <mutex>    // for mutex
#include <string>   // for string
#include <vector>   // for vector

#include "fake_nccl/injection.h"
#include "fake_nccl/queue.h"

namespace fake {

struct Context {
  int device;
};

class Machine {
 public:
  Machine() {
    const long all = number("FAKE_CUDA_DEVICES", 1);
    if (std::getenv("CUDA_VISIBLE_DEVICES") == nullptr) {
      for (int i = 0; i < all; ++i) visible_.push_back(i);
    }
    for (const auto& one : fields(setting("CUDA_VISIBLE_DEVICES"), ',')) {
      const long physical = std::strtol(one.c_str(), nullptr, 10);
      if (physical >= 0 && physical < all) visible_.push_back(static_cast<int>(physical));
    }
    for (std::size_t i = 0; i < visible_.size(); ++i) {
      contexts_.push_back(std::make_unique<Context>(Context{static_cast<int>(i)}));
    }
  }
  [[nodiscard]] int count() const { return static_cast<int>(visible_.size()); }
  [[nodiscard]] bool has(int device) const { return device >= 0 && device < count(); }
  // Number of the device on the machine, whatever is visible.
  [[nodiscard]] int physical(int device) const { return visible_[static_cast<std::size_t>(device)]; }
  [[nodiscard]] Context* context(int device) { return contexts_[static_cast<std::size_t>(device)].get(); }
  // The legacy default stream of a device.
  std::shared_ptr<Queue> default_stream(int device) {
    const std::lock_guard lock(mutex_);
    auto& queue = defaults_[device];
    if (!queue) {
      queue = Queue::start();
      queues_.push_back(queue);
    }
    return queue;
  }
  std::shared_ptr<Queue> new_stream() {
    const std::lock_guard lock(mutex_);
    auto queue = Queue::start();
    queues_.push_back(queue);
    return queue;
  }
  // Waits for all streams, as freeing memory does.
  void drain() {
    std::vector<std::shared_ptr<Queue>> alive;
    {
      const std::lock_guard lock(mutex_);
      std::vector<std::weak_ptr<Queue>> kept;
      for (const auto& one : queues_) {
        if (auto queue = one.lock()) {
          alive.push_back(queue);
          kept.push_back(one);
        }
      }
      queues_.swap(kept);
    }
    for (const auto& queue : alive) queue->drain();
  }

  void own(void* pointer, std::size_t bytes, int device) {
    const std::lock_guard lock(mutex_);
    owned_[reinterpret_cast<std::uintptr_t>(pointer)] = {bytes, device};
  }
  bool disown(void* pointer) {
    const std::lock_guard lock(mutex_);
    return owned_.erase(reinterpret_cast<std::uintptr_t>(pointer)) > 0;
  }
  // -1: not device memory.
  int device_of(std::uintptr_t address) {
    const std::lock_guard lock(mutex_);
    auto next = owned_.upper_bound(address);
    if (next == owned_.begin()) return -1;
    const auto& [start, block] = *--next;
    return address < start + block.bytes ? block.device : -1;
  }

 private:
  struct Block {
    std::size_t bytes;
    int device;
  };
  std::vector<int> visible_;
  std::vector<std::unique_ptr<Context>> contexts_;
  std::mutex mutex_;
  std::map<int, std::shared_ptr<Queue>> defaults_;
  std::vector<std::weak_ptr<Queue>> queues_;
  std::map<std::uintptr_t, Block> owned_;
};

}  // namespace fake
