#include "ring/comm/engine.h"

#include <signal.h>  // for pthread_sigmask, sigset_t

#include <utility>  // for move

#include "ring/algo/host_backend.h"
#include "ring/base/fork_guard.h"
#include "ring/comm/fingerprint.h"
#include "ring/comm/float_mode.h"

namespace ring::comm {
namespace {

constexpr double kSliceSeconds = 0.1;  // how soon a waiting caller is asked whether to go on

// Signals are for the application's own threads; faults stay with the thread that causes them.
void block_signals() {
  sigset_t signals;
  ::sigfillset(&signals);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::sigdelset(&signals, fault);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

}  // namespace

Result<std::shared_ptr<Engine>> Engine::start(transport::Mesh mesh) {
  auto lifelines = std::move(mesh.lifelines);
  const int rank = mesh.rank;
  auto hosts = mesh.hosts;
  // In a forked child nothing of it may be touched, not even to free it: the thread that waits inside does
  // not exist there, and the links belong to the parent.
  std::shared_ptr<Engine> engine(new Engine(), [](Engine* last) {
    if (!last->is_forked()) delete last;
  });
  if (!engine->interrupt_.valid()) return Status::system("eventfd", errno);
  auto backend = algo::HostBackend::make(std::move(mesh), engine->interrupt_);
  if (!backend) return backend.status();
  engine->world_ = std::make_shared<Group>(0, std::move(backend).value());
  auto watcher = transport::Watcher::start(std::move(lifelines), rank, std::move(hosts), engine->interrupt_,
                                           [raw = engine.get()] { raw->look(); });
  if (!watcher) return watcher.status();
  engine->watcher_ = std::move(watcher).value();
  engine->thread_ = std::make_unique<std::thread>([raw = engine.get()] { raw->serve(); });
  return engine;
}

Engine::Engine() : forks_(forks()) {}

Engine::~Engine() {
  close();
}

bool Engine::is_forked() const noexcept {
  return forks() != forks_;
}

// Gives the operation its place in the order; under the lock.
Status Engine::admit(Group& group, Operation& operation) {
  if (!failure_) return failure_;
  if (closing_) return {Code::kAborted, "the communicator is closed", world_->rank()};
  if (!stop_) return stop_;
  if (group.is_closed()) return {Code::kAborted, "the group of ranks is closed", world_->rank()};
  operation.sequence = group.next_sequence();
  operation.group = group.id();
  return Status::ok();
}

backend::WorkPtr Engine::enqueue(Group& group, const Operation& operation) {
  auto task = std::make_unique<Task>();
  task->group = &group;
  task->operation = operation;
  task->label = operation.label;
  task->operation.label = task->label;
  task->work = std::make_shared<backend::Work>();
  auto work = task->work;
  queue_.push_back(std::move(task));
  changed_.notify_one();
  return work;
}

Result<backend::WorkPtr> Engine::submit(Group& group, Operation operation) {
  RING_TRY(check(operation, group.rank(), group.size()));
  if (is_forked())
    return Status(Code::kAborted, "a communicator does not survive fork: build one in the child");
  const std::lock_guard lock(mutex_);
  RING_TRY(admit(group, operation));
  return enqueue(group, operation);
}

Status Engine::run(Group& group, Operation operation, const Check* give_up) {
  RING_TRY(check(operation, group.rank(), group.size()));
  if (is_forked()) return {Code::kAborted, "a communicator does not survive fork: build one in the child"};
  {
    std::unique_lock lock(mutex_);
    RING_TRY(admit(group, operation));
    if (is_busy_ || !queue_.empty()) {
      const auto work = enqueue(group, operation);
      lock.unlock();
      return wait_for(*work, give_up);
    }
    begin(operation, true);
  }
  interrupt_.set_check(give_up);
  Status status = execute(group, operation);
  interrupt_.set_check(nullptr);
  if (!status) status = failed(operation, " failed", conclude(status, group.backend().waited_for()));
  const std::lock_guard lock(mutex_);
  end(group, status);
  return status;
}

Status Engine::wait_for(const backend::Work& work, const Check* give_up) {
  while (!work.wait_for(kSliceSeconds)) {
    if (give_up != nullptr && (*give_up)()) fail(own_end("was interrupted"));
  }
  return work.status();
}

void Engine::keep(GroupPtr group) {
  const std::lock_guard lock(mutex_);
  if (is_released_) group->backend().close();
  groups_.push_back(std::move(group));
}

void Engine::close_group(Group& group) {
  if (is_forked()) return;
  Operation operation;
  operation.kind = Kind::kRelease;
  operation.timeout_s = kSliceSeconds;  // waits for nobody
  operation.label = "group";
  operation.body = [](backend::Backend& backend, const backend::Interrupt&, const backend::Call&) {
    backend.close();
    return Status::ok();
  };
  std::unique_lock lock(mutex_);
  if (!admit(group, operation)) return;  // closed already, or the ring ends and takes it along
  group.mark_closed();
  if (is_busy_ || !queue_.empty()) {
    static_cast<void>(enqueue(group, operation));
    return;
  }
  begin(operation, true);
  lock.unlock();
  const Status status = execute(group, operation);
  lock.lock();
  end(group, status);
}

void Engine::abort(const std::string& reason) {
  if (!is_forked()) fail(own_end("aborted: " + reason));
}

Status Engine::own_end(const std::string& how) const {
  const std::lock_guard lock(mutex_);
  const std::string last = recorder_.last();
  return {Code::kAborted,
          "rank " + std::to_string(world_->rank()) + " " + how +
              (last.empty() ? "" : " (its last collective: " + last + ")"),
          world_->rank(), world_->backend().host_of(world_->rank())};
}

void Engine::fail(const Status& cause) {
  if (is_forked()) return;
  {
    const std::lock_guard lock(mutex_);
    if (!stop_ || !failure_ || closing_) return;
    stop_ = cause;
  }
  static_cast<void>(watcher_->abort(cause));
  look();
}

// The thread looks again at what may have ended it.
void Engine::look() {
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

Status Engine::failure() const {
  if (is_forked()) return Status::ok();
  const std::lock_guard lock(mutex_);
  return failure_;
}

void Engine::close() {
  if (is_forked()) return;
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    interrupt_.raise();
    changed_.notify_all();
  }
  const std::lock_guard join_lock(join_mutex_);
  if (thread_ && thread_->joinable()) thread_->join();
}

void Engine::serve() {
  block_signals();
  const PlainFloats plain;  // threads inherit flush-to-zero from the one that made them
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] {
      const bool stopping = closing_ || interrupt_.raised();  // `stop_` alone: it is about to be raised
      return !is_busy_ && (stopping || !failure_ || !queue_.empty());
    });
    if (!failure_) break;
    perform(lock);
  }
  changed_.wait(lock, [this] { return closing_ && !is_busy_; });  // links stay open: peers still read why
  lock.unlock();
  watcher_->close();
  release();
}

// Handles of communicators and groups may live on: links and memory do not.
void Engine::release() {
  const std::lock_guard lock(mutex_);
  is_released_ = true;
  for (const auto& group : groups_) group->backend().close();
  world_->backend().close();
}

// The next task, or the end where this rank stops.
void Engine::perform(std::unique_lock<std::mutex>& lock) {
  if (interrupt_.raised()) {
    is_busy_ = true;
    lock.unlock();
    static_cast<void>(conclude(Status::ok(), -1));
    lock.lock();
    is_busy_ = false;
    return;
  }
  const TaskPtr task = std::move(queue_.front());
  queue_.pop_front();
  begin(task->operation, false);
  lock.unlock();
  Status status = execute(*task->group, task->operation);
  if (!status) {
    status = failed(task->operation, " failed", conclude(status, task->group->backend().waited_for()));
  }
  lock.lock();
  end(*task->group, status);
  lock.unlock();
  task->work->finish(std::move(status));  // last: a waiter may go on, and let go of everything, from here
  lock.lock();
}

Status Engine::execute(Group& group, const Operation& operation) {
  if (interrupt_.raised()) return {Code::kAborted, "interrupted", world_->rank()};
  const PlainFloats plain;
  return group.execute(operation, interrupt_, Deadline::after(operation.timeout_s, start_));
}

// Both under the lock.
void Engine::begin(const Operation& operation, bool is_inline) {
  is_busy_ = true;
  start_ = recorder_.begin(operation, is_inline);
}

void Engine::end(Group& group, const Status& status) {
  recorder_.end(status.code(), group.take_meter());
  is_busy_ = false;
  // An end that was heard while this ran is the thread's to conclude: nobody may call again.
  if (!queue_.empty() || closing_ || !stop_ || !failure_ || interrupt_.raised()) changed_.notify_all();
}

// The end of everything, by whoever executes: tells the peers, fails what is queued, returns the cause.
Status Engine::conclude(const Status& seen, int waited_for) {
  if (interrupt_.cancelled()) fail(own_end("was interrupted"));
  const Status cause = final_cause(seen, waited_for);
  fail_queue(cause);
  return cause;
}

// Why all ends: a failure of some rank, or what this rank's own application asked for.
Status Engine::final_cause(const Status& seen, int waited_for) {
  const Status known = watcher_->failure();
  if (!interrupt_.raised() || !known) {
    const Status cause = seen ? Status(Code::kAborted, "interrupted", world_->rank()) : seen;
    return watcher_->give_up(cause, waited_for);
  }
  const Status cause = stop_cause();
  if (!cause) return watcher_->give_up(cause, waited_for);
  return {Code::kAborted, "the communicator is closed", world_->rank()};
}

// Ok: closed with nothing pending, so that peers need no reason.
Status Engine::stop_cause() {
  const std::lock_guard lock(mutex_);
  if (!stop_) return stop_;
  const bool is_running = recorder_.is_running();
  const std::size_t pending = queue_.size() + (is_running ? 1 : 0);
  if (pending == 0) return Status::ok();
  return {Code::kAborted,
          "rank " + std::to_string(world_->rank()) + " closed its communicator while " +
              std::to_string(pending) + " collectives were pending",
          world_->rank(), world_->backend().host_of(world_->rank())};
}

void Engine::fail_queue(const Status& cause) {
  std::deque<TaskPtr> left;
  {
    const std::lock_guard lock(mutex_);
    failure_ = cause;
    left.swap(queue_);
  }
  for (const auto& task : left) task->work->finish(failed(task->operation, " did not run", cause));
}

std::vector<Record> Engine::recent() {
  const std::lock_guard lock(mutex_);
  return recorder_.recent();
}

std::array<Counters, kNumKinds> Engine::counters() {
  const std::lock_guard lock(mutex_);
  return recorder_.counters();
}

void Engine::trace(std::size_t capacity) {
  const std::lock_guard lock(mutex_);
  recorder_.trace(capacity);
}

std::vector<Record> Engine::take_trace() {
  const std::lock_guard lock(mutex_);
  return recorder_.take_trace();
}

}  // namespace ring::comm
