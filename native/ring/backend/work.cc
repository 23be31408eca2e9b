#include "ring/backend/work.h"

#include <chrono>   // for duration
#include <utility>  // for move

namespace ring::backend {

void Work::finish(Status status) {
  const std::lock_guard lock(mutex_);
  status_ = std::move(status);
  done_ = true;
  changed_.notify_all();  // under the lock: a waiter may destroy this as soon as it sees `done_`
}

bool Work::done() const {
  const std::lock_guard lock(mutex_);
  return done_;
}

bool Work::wait_for(double seconds) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return done_; });
}

Status Work::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

}  // namespace ring::backend
