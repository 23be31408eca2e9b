// Streams and events over host threads: each stream is a thread that takes its jobs in order, and nothing but
// an event orders two of them, so that a missing wait shows. Handles may go while jobs still hold the state.
#pragma once

#include <condition_variable>  // for condition_variable
#include <cstdint>             // for uint64_t
#include <deque>               // for deque
#include <functional>          // for function
#include <memory>              // for shared_ptr, make_shared
#include <mutex>               // for mutex
#include <thread>              // for thread
#include <utility>             // for move

namespace fake {

class Event {
 public:
  // The number of a recording: what waits for it waits for this one, whatever is recorded later.
  std::uint64_t record() {
    const std::lock_guard lock(mutex_);
    return ++recorded_;
  }
  void complete(std::uint64_t recording) {
    const std::lock_guard lock(mutex_);
    if (recording > completed_) completed_ = recording;
    changed_.notify_all();
  }
  std::uint64_t last() {
    const std::lock_guard lock(mutex_);
    return recorded_;
  }
  bool ready() {
    const std::lock_guard lock(mutex_);
    return completed_ >= recorded_;
  }
  void wait(std::uint64_t recording) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return completed_ >= recording; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t recorded_ = 0;
  std::uint64_t completed_ = 0;
};

class Queue : public std::enable_shared_from_this<Queue> {
 public:
  static std::shared_ptr<Queue> start() {
    auto queue = std::make_shared<Queue>();
    std::thread([queue] { queue->run(); }).detach();
    return queue;
  }
  void push(std::function<void()> job) {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
    changed_.notify_all();
  }
  // Ends the thread once it has done what is queued.
  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  bool idle() {
    const std::lock_guard lock(mutex_);
    return jobs_.empty() && !busy_;
  }
  void drain() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return jobs_.empty() && !busy_; });
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return stopped_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      {
        auto job = std::move(jobs_.front());
        jobs_.pop_front();
        busy_ = true;
        lock.unlock();
        job();
      }
      lock.lock();
      busy_ = false;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool busy_ = false;
  bool stopped_ = false;
};

}  // namespace fake
