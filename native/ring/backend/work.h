// Work: the completion of one submitted collective. Any thread may wait; one thread finishes it, once.
#pragma once

#include <condition_variable>  // for condition_variable
#include <memory>              // for shared_ptr
#include <mutex>               // for mutex

#include "ring/base/status.h"

namespace ring::backend {

class Work {
 public:
  void finish(Status status);

  [[nodiscard]] bool done() const;
  // Waits at most `seconds`; true when done.
  [[nodiscard]] bool wait_for(double seconds) const;
  // What became of it; only after it is done.
  [[nodiscard]] Status status() const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool done_ = false;
  Status status_;
};

using WorkPtr = std::shared_ptr<Work>;

}  // namespace ring::backend
