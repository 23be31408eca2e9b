// Engine: runs the collectives of all groups of a communicator, first in, first out, one at a time. A
// blocking call runs in its caller's thread when nothing else is under way; everything else on one progress
// thread. Thread-safety: all but the constructor from any thread. The first failure is final: it is told to
// all peers, fails all that is queued, and is what later calls return.
#pragma once

#include <condition_variable>  // for condition_variable
#include <deque>               // for deque
#include <memory>              // for shared_ptr, unique_ptr
#include <mutex>               // for mutex
#include <string>              // for string
#include <thread>              // for thread
#include <vector>              // for vector

#include "ring/backend/interrupt.h"
#include "ring/backend/work.h"
#include "ring/base/deadline.h"
#include "ring/base/status.h"
#include "ring/comm/group.h"
#include "ring/comm/operation.h"
#include "ring/comm/recorder.h"
#include "ring/transport/mesh.h"
#include "ring/transport/watcher.h"

namespace ring::comm {

class Engine {
 public:
  using Check = backend::Interrupt::Check;

  [[nodiscard]] static Result<std::shared_ptr<Engine>> start(transport::Mesh mesh);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine();  // close

  // The group of all ranks.
  [[nodiscard]] const GroupPtr& world() const noexcept { return world_; }

  // Keeps a new group of ranks for as long as the engine lives.
  void keep(GroupPtr group);
  // Lets go of the memory of a group of some ranks, behind what was submitted to it; it is refused from now
  // on.
  void close_group(Group& group);

  // Queues; what the operation looks at, but for its label, must live until the work is done.
  [[nodiscard]] Result<backend::WorkPtr> submit(Group& group, Operation operation);
  // Runs to the end. `give_up` (may be null) is asked now and then while it waits; true aborts the engine, so
  // that the caller's memory is free when this returns.
  [[nodiscard]] Status run(Group& group, Operation operation, const Check* give_up);

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

  [[nodiscard]] std::vector<Record> recent();
  [[nodiscard]] std::array<Counters, kNumKinds> counters();
  void trace(std::size_t capacity);
  [[nodiscard]] std::vector<Record> take_trace();

 private:
  struct Task {
    Group* group;
    Operation operation;  // its label looks at `label`
    std::string label;
    backend::WorkPtr work;
  };
  using TaskPtr = std::unique_ptr<Task>;

  Engine();
  [[nodiscard]] Status admit(Group& group, Operation& operation);
  [[nodiscard]] backend::WorkPtr enqueue(Group& group, const Operation& operation);
  [[nodiscard]] Status wait_for(const backend::Work& work, const Check* give_up);
  void serve();
  void perform(std::unique_lock<std::mutex>& lock);
  [[nodiscard]] Status execute(Group& group, const Operation& operation);
  void begin(const Operation& operation, bool is_inline);
  void end(Group& group, const Status& status);
  [[nodiscard]] Status own_end(const std::string& how) const;
  [[nodiscard]] Status conclude(const Status& seen, int waited_for);
  [[nodiscard]] Status final_cause(const Status& seen, int waited_for);
  [[nodiscard]] Status stop_cause();
  void look();
  void fail_queue(const Status& cause);
  void release();

  const unsigned forks_;
  backend::Interrupt interrupt_;
  GroupPtr world_;
  std::unique_ptr<transport::Watcher> watcher_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<TaskPtr> queue_;
  bool is_busy_ = false;                 // somebody executes: the owner of all backends
  Deadline::Clock::time_point start_{};  // of what is executed
  bool closing_ = false;
  Status stop_;                   // why this rank itself stops
  Status failure_;                // the first failure of all
  std::vector<GroupPtr> groups_;  // beside the world
  bool is_released_ = false;      // nothing executes any more, links and memory are gone
  Recorder recorder_;

  std::mutex join_mutex_;
  std::unique_ptr<std::thread> thread_;
};

}  // namespace ring::comm
