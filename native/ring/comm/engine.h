// Engine: runs the collectives of one communicator, first in, first out, on one progress thread.
// Thread-safety: submit, abort and close from any thread. The first failure is final: it is told to all
// peers, fails all that is queued, and is what later submits return.
#pragma once

#include <sys/types.h>  // for pid_t

#include <condition_variable>  // for condition_variable
#include <deque>               // for deque
#include <memory>              // for shared_ptr, unique_ptr
#include <mutex>               // for mutex
#include <string>              // for string
#include <thread>              // for thread

#include "ring/backend/backend.h"
#include "ring/backend/interrupt.h"
#include "ring/backend/work.h"
#include "ring/base/status.h"
#include "ring/comm/operation.h"
#include "ring/transport/link.h"

namespace ring::comm {

class Engine {
 public:
  [[nodiscard]] static Result<std::shared_ptr<Engine>> start(transport::Mesh mesh);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine();  // close

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }

  [[nodiscard]] Result<backend::WorkPtr> submit(Operation operation);
  // All pending and later work fails, here and on every peer, which is told `reason` and this rank. Never
  // blocks.
  void abort(const std::string& reason);
  void fail(const Status& cause);
  // Ok while alive, then the first failure of all.
  [[nodiscard]] Status failure() const;
  // Leaves the group; what is pending fails as in an abort. Joins the thread. Again: does nothing.
  void close();

  // True in a child process made by fork: no thread runs there, nothing can be waited for.
  [[nodiscard]] bool is_forked() const noexcept;

 private:
  explicit Engine(transport::Mesh mesh);
  void run();
  [[nodiscard]] Status serve();
  [[nodiscard]] Status next(Operation& operation);
  [[nodiscard]] Status execute(const Operation& operation);
  [[nodiscard]] Status agree(const Operation& operation, const backend::Call& call);
  [[nodiscard]] Status dispatch(const Operation& operation, const backend::Call& call);
  [[nodiscard]] Status final_cause(const Status& seen);
  [[nodiscard]] Status stop_cause();
  void fail_all(const Status& cause);

  const int rank_;
  const int size_;
  const pid_t pid_;
  backend::Interrupt interrupt_;
  std::unique_ptr<backend::Backend> backend_;  // only the thread uses it

  mutable std::mutex mutex_;
  std::condition_variable closing_changed_;
  std::deque<Operation> queue_;  // the front one is being run while `running_`
  bool running_ = false;
  bool idle_ = false;  // the thread sleeps until it is nudged
  bool closing_ = false;
  Status stop_;     // why this rank itself stops
  Status failure_;  // the first failure of all
  std::uint64_t sequence_ = 0;

  std::mutex join_mutex_;
  std::unique_ptr<std::thread> thread_;
};

}  // namespace ring::comm
