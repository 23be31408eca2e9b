// Communicator: one rank of a fake NCCL communicator. It does what NCCL does in non-blocking mode: calls
// return "in progress", and asking for the asynchronous error moves things on. Kernels run in the threads of
// fake streams.
#pragma once

#include <atomic>      // for atomic
#include <functional>  // for function
#include <map>         // for map
#include <memory>      // for shared_ptr
#include <mutex>       // for mutex
#include <string>      // for string
#include <utility>     // for move
#include <vector>      // for vector

#include "fake_nccl/arithmetic.h"
#include "fake_nccl/world.h"
#include "ring/nccl/abi.h"

namespace fake {

using ring::nccl::Outcome;
using ring::nccl::Stream;

class Communicator : public std::enable_shared_from_this<Communicator> {
 public:
  // What a stream's thread runs: false when it was aborted.
  using Kernel = std::function<bool(Communicator&)>;

  Communicator(std::shared_ptr<World> world, int rank, bool hangs)
      : world_(std::move(world)), rank_(rank), hangs_(hangs) {}

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return world_->size(); }

  // Queues a kernel, at once or after FAKE_NCCL_SLOW polls.
  Outcome launch(Stream stream, Kernel kernel);
  // What ncclCommGetAsyncError tells; finishes joining, splitting and slow launches on the way.
  Outcome poll();
  void fail(Outcome code);
  void abort();
  // In progress until nothing is queued or running.
  Outcome finalize();

  Outcome split(int color, int key, std::shared_ptr<Communicator>* made, std::function<void()> deliver);

  ring::nccl::RedOp add_op(const Operation& operation);
  bool remove_op(ring::nccl::RedOp op);
  [[nodiscard]] bool find_op(ring::nccl::RedOp op, Operation& found);

  bool exchange(std::vector<Span> sends, std::vector<Span> receives) {
    return world_->exchange(rank_, std::move(sends), std::move(receives), stop_);
  }
  [[nodiscard]] std::string last_error();
  // Waits for an abort: a kernel that never ends.
  bool hang();

 private:
  struct Pending {
    Stream stream;
    Kernel kernel;
  };
  struct Splitting {
    std::uint64_t round;
    std::shared_ptr<Communicator>* made;
    std::function<void()> deliver;
  };
  void enqueue(Pending pending);
  Outcome poll_join();
  Outcome poll_split();

  const std::shared_ptr<World> world_;
  const int rank_;
  const bool hangs_;
  std::atomic<bool> stop_{false};
  std::atomic<int> running_{0};
  std::mutex mutex_;
  bool joined_ = false;
  bool finalizing_ = false;
  Outcome failed_ = ring::nccl::kSuccess;
  std::string error_;
  long polls_left_ = 0;
  std::vector<Pending> slow_;
  std::shared_ptr<Splitting> splitting_;
  std::map<int, Operation> ops_;
  int next_op_ = 16;
};

}  // namespace fake
