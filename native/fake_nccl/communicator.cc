#include "fake_nccl/communicator.h"

#include <dlfcn.h>   // for dlopen, dlsym
#include <unistd.h>  // for usleep

#include <algorithm>  // for stable_sort
#include <utility>    // for move

#include "fake_nccl/injection.h"

namespace fake {
namespace {

using namespace ring::nccl;
using LaunchHostFunc = int (*)(Stream, void (*)(void*), void*);

// The fake driver of this process, as the real NCCL finds the real one.
LaunchHostFunc launcher() {
  void* driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return driver == nullptr ? nullptr : reinterpret_cast<LaunchHostFunc>(::dlsym(driver, "cuLaunchHostFunc"));
}

struct Job {
  std::shared_ptr<Communicator> communicator;
  Communicator::Kernel kernel;
  std::function<void()> finished;
};

void run(void* data) {
  const std::unique_ptr<Job> job(static_cast<Job*>(data));
  static_cast<void>(job->kernel(*job->communicator));
  job->finished();
}

}  // namespace

Outcome Communicator::launch(Stream stream, Kernel kernel) {
  const std::lock_guard lock(mutex_);
  if (failed_ != kSuccess) return failed_;
  if (!joined_ || splitting_ || !slow_.empty()) {
    error_ = "fake: a call before the one before it was ready";
    return kInvalidUsage;
  }
  const long slow = number("FAKE_NCCL_SLOW", 0);
  if (slow <= 0) {
    enqueue({stream, std::move(kernel)});
    return kSuccess;
  }
  polls_left_ = slow;
  slow_.push_back({stream, std::move(kernel)});
  return kInProgress;
}

void Communicator::enqueue(Pending pending) {
  ++running_;
  auto self = shared_from_this();
  auto* job = new Job{self, std::move(pending.kernel), [self] { --self->running_; }};
  launcher()(pending.stream, &run, job);
}

Outcome Communicator::poll() {
  const std::lock_guard lock(mutex_);
  if (failed_ != kSuccess) return failed_;
  if (!joined_) return poll_join();
  if (splitting_) return poll_split();
  if (slow_.empty()) return finalizing_ && running_.load() > 0 ? kInProgress : kSuccess;
  if (--polls_left_ > 0) return kInProgress;
  auto ready = std::move(slow_);
  slow_.clear();
  for (auto& pending : ready) enqueue(std::move(pending));
  return kSuccess;
}

Outcome Communicator::poll_join() {
  if (hangs_ || !world_->complete()) return kInProgress;
  const bool may_share = number("NCCL_MULTI_RANK_GPU_ENABLE", 0) != 0;
  for (int other = 0; other < size() && !may_share; ++other) {
    if (other == rank_ || std::string(world_->seat(other).pci) != world_->seat(rank_).pci) continue;
    error_ = "Duplicate GPU detected : rank " + std::to_string(rank_) + " and rank " + std::to_string(other) +
             " both on CUDA device " + world_->seat(rank_).pci;
    failed_ = kInvalidUsage;
    return failed_;
  }
  joined_ = true;
  return kSuccess;
}

void Communicator::fail(Outcome code) {
  const std::lock_guard lock(mutex_);
  failed_ = code;
  error_ = "fake: asked to fail";
}

Outcome Communicator::finalize() {
  const std::lock_guard lock(mutex_);
  if (failed_ != kSuccess) return failed_;
  finalizing_ = true;
  return running_.load() > 0 ? kInProgress : kSuccess;
}

void Communicator::abort() {
  stop_.store(true, std::memory_order_release);
  world_->unlink();
}

bool Communicator::hang() {
  while (!stop_.load(std::memory_order_acquire)) ::usleep(200);
  return false;
}

Outcome Communicator::split(int color, int key, std::shared_ptr<Communicator>* made,
                            std::function<void()> deliver) {
  const std::lock_guard lock(mutex_);
  if (failed_ != kSuccess) return failed_;
  if (!joined_ || splitting_ || !slow_.empty()) return kInvalidUsage;
  Seat& seat = world_->seat(rank_);
  const auto round = seat.splits.load(std::memory_order_relaxed);
  seat.color[round % kSplits] = color;
  seat.key[round % kSplits] = key;
  seat.splits.store(round + 1, std::memory_order_release);
  splitting_ = std::make_shared<Splitting>(Splitting{round, made, std::move(deliver)});
  return kInProgress;
}

Outcome Communicator::poll_split() {
  const auto round = splitting_->round;
  for (int rank = 0; rank < size(); ++rank) {
    if (world_->seat(rank).splits.load(std::memory_order_acquire) <= round) return kInProgress;
  }
  const std::size_t place = round % kSplits;
  const int color = world_->seat(rank_).color[place];
  std::vector<int> members;
  for (int rank = 0; rank < size(); ++rank) {
    if (world_->seat(rank).color[place] == color) members.push_back(rank);
  }
  std::stable_sort(members.begin(), members.end(),
                   [&](int a, int b) { return world_->seat(a).key[place] < world_->seat(b).key[place]; });
  if (color >= 0) {
    const auto own = static_cast<int>(std::find(members.begin(), members.end(), rank_) - members.begin());
    const std::string name = world_->name() + "-" + std::to_string(round) + "-" + std::to_string(color);
    auto child = World::join(name, static_cast<int>(members.size()), own, world_->seat(rank_).pci);
    *splitting_->made = std::make_shared<Communicator>(std::move(child), own, false);
  }
  splitting_->deliver();
  splitting_ = nullptr;
  return kSuccess;
}

RedOp Communicator::add_op(const Operation& operation) {
  const std::lock_guard lock(mutex_);
  ops_[++next_op_] = operation;
  return static_cast<RedOp>(next_op_);
}

bool Communicator::remove_op(RedOp op) {
  const std::lock_guard lock(mutex_);
  return ops_.erase(op) > 0;
}

bool Communicator::find_op(RedOp op, Operation& found) {
  const std::lock_guard lock(mutex_);
  if (op >= kSum && op <= kMin) {
    found.op = op;
    return true;
  }
  const auto made = ops_.find(op);
  if (made == ops_.end()) return false;
  found = made->second;
  return true;
}

std::string Communicator::last_error() {
  const std::lock_guard lock(mutex_);
  return error_;
}

}  // namespace fake
