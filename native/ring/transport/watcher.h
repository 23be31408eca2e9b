// Watcher: one thread that owns the lifelines of a communicator. It notices who dies, leaves or gives up,
// tells every rank, and raises the Interrupt of its owner. Owner: the engine.
// Thread-safety: all but construction and destruction may be called by any thread.
//
// An abort goes to all ranks by flooding: a frame names the rank whose view it is, and each rank passes on
// what it has not seen of that rank to its other neighbours. Who finds a peer dead speaks in its place. The
// first cause that a rank hears is its failure; after a time-out the views of all that are blamed are put
// together (blame.h), for a short grace.
#pragma once

#include <condition_variable>  // for condition_variable
#include <functional>          // for function
#include <memory>              // for unique_ptr
#include <mutex>               // for mutex
#include <set>                 // for set
#include <string>              // for string
#include <thread>              // for thread
#include <vector>              // for vector

#include "ring/backend/interrupt.h"
#include "ring/base/status.h"
#include "ring/base/unique_fd.h"
#include "ring/transport/blame.h"
#include "ring/transport/lifeline.h"

namespace ring::transport {

class Watcher {
 public:
  using Lifelines = std::vector<std::unique_ptr<Lifeline>>;

  // `lifelines` by rank, null where there is none; `hosts` by rank. `interrupt` must outlive the watcher.
  // `failed` (may be empty) is called by the thread of the watcher after it has raised the interrupt.
  // kSystem when the system has no descriptor or thread left.
  [[nodiscard]] static Result<std::unique_ptr<Watcher>> start(Lifelines lifelines, int rank,
                                                              std::vector<std::string> hosts,
                                                              backend::Interrupt& interrupt,
                                                              std::function<void()> failed = {});
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;
  ~Watcher();  // close

  // Ok while all live; then the first cause, for good.
  [[nodiscard]] Status failure() const;

  // This rank gives up because of `cause`: tells all others and raises the interrupt. Returns the first cause
  // that is known: an earlier one where there is one. A kAborted says nothing new where there is a failure
  // already. Never blocks.
  Status abort(const Status& cause);
  // The same from the thread that has stopped executing; `waited_for` is the rank that it was waiting for, or
  // -1. Returns the cause that all ranks name. Blocks for a time-out only, and no longer than a short grace.
  Status give_up(const Status& cause, int waited_for);

  // Says bye and ends the thread. Again: does nothing.
  void close() noexcept;

 private:
  Watcher(Lifelines lifelines, int rank, std::vector<std::string> hosts, backend::Interrupt& interrupt,
          std::function<void()> failed, UniqueFd wake);
  void run();
  void attend_all(const std::vector<pollfd>& fds, const std::vector<std::size_t>& begin);
  void attend(Lifeline& lifeline);
  void hear_of_leaving(int origin, int from);
  void say(const Status& cause);
  // Records and passes on what `origin` says, once.
  void hear(int origin, const Status& said, int from);
  void answer();
  void tell(const std::string& frame, int from, int origin);
  void wake() const noexcept;
  [[nodiscard]] bool is_rank(int rank) const noexcept;

  const int rank_;
  const std::vector<std::string> hosts_;
  backend::Interrupt& interrupt_;
  const std::function<void()> failed_;
  const UniqueFd wake_;

  mutable std::mutex mutex_;  // for all below
  std::condition_variable heard_;
  Lifelines lifelines_;
  Status failure_;
  Views views_;
  std::set<int> left_;
  bool gave_up_ = false;  // this rank executes nothing any more
  int waited_for_ = -1;   // what it was waiting for then
  bool closing_ = false;

  std::mutex join_mutex_;
  std::thread thread_;
};

}  // namespace ring::transport
