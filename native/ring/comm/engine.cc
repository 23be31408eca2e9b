#include "ring/comm/engine.h"

#include <signal.h>  // for pthread_sigmask, sigset_t
#include <unistd.h>  // for getpid

#include <cfenv>    // for fesetenv
#include <cstring>  // for memcmp
#include <utility>  // for move

#include "ring/algo/host_backend.h"
#include "ring/comm/fingerprint.h"

namespace ring::comm {
namespace {

constexpr double kWatchSeconds = 3600;  // any: the watch starts anew

// Signals are for the application's own threads; faults stay with the thread that causes them.
void block_signals() {
  sigset_t signals;
  ::sigfillset(&signals);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::sigdelset(&signals, fault);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

backend::Counts in_bytes(const Operation& operation) {
  backend::Counts bytes = operation.counts;
  for (auto& count : bytes) count *= size_of(operation.dtype);
  return bytes;
}

// The header of one operation, for messages: whether ranks agree is found out before it runs.
class Named final : public backend::Agreement {
 public:
  explicit Named(const Operation& operation) : header_(header_of(operation)) {}
  [[nodiscard]] Bytes header() const override { return {&header_, sizeof header_}; }
  [[nodiscard]] std::uint64_t hash() const override { return header_.sequence; }
  [[nodiscard]] std::string name() const override { return describe(header_); }
  [[nodiscard]] Status compare(int rank, Bytes theirs) const override {
    if (theirs.size == sizeof header_ && std::memcmp(&header_, theirs.data, sizeof header_) == 0) return {};
    return {Code::kMismatch, name() + ": rank " + std::to_string(rank) + " calls something else", rank};
  }

 private:
  Header header_;
};

Status failed(const Operation& operation, const char* how, const Status& cause) {
  return Status(cause.code(), describe(header_of(operation)) + how, cause.rank(), cause.host())
      .because(cause);
}

}  // namespace

Result<std::shared_ptr<Engine>> Engine::start(transport::Mesh mesh) {
  std::shared_ptr<Engine> engine(new Engine(std::move(mesh)));
  if (!engine->interrupt_.valid()) return Status::system("eventfd", errno);
  engine->thread_ = std::make_unique<std::thread>([raw = engine.get()] { raw->run(); });
  return engine;
}

Engine::Engine(transport::Mesh mesh)
    : rank_(mesh.rank),
      size_(mesh.size),
      pid_(::getpid()),
      backend_(std::make_unique<algo::HostBackend>(std::move(mesh), interrupt_)) {}

Engine::~Engine() {
  close();
  if (!is_forked()) return;
  // The thread does not exist here and its links belong to the parent: forget both.
  static_cast<void>(thread_.release());
  static_cast<void>(backend_.release());
}

bool Engine::is_forked() const noexcept {
  return ::getpid() != pid_;
}

Result<backend::WorkPtr> Engine::submit(Operation operation) {
  RING_TRY(check(operation, rank_, size_));
  if (is_forked())
    return Status(Code::kAborted, "a communicator does not survive fork: build one in the child");
  operation.work = std::make_shared<backend::Work>();
  auto work = operation.work;
  const std::lock_guard lock(mutex_);
  if (!failure_) return failure_;
  if (closing_) return Status(Code::kAborted, "the communicator is closed", rank_);
  if (!stop_) return stop_;
  operation.sequence = ++sequence_;
  queue_.push_back(std::move(operation));
  if (idle_) interrupt_.nudge();
  return work;
}

void Engine::abort(const std::string& reason) {
  if (is_forked()) return;
  fail({Code::kAborted, "rank " + std::to_string(rank_) + " aborted: " + reason, rank_,
        backend_->host_of(rank_)});
}

void Engine::fail(const Status& cause) {
  if (is_forked()) return;
  const std::lock_guard lock(mutex_);
  if (!stop_ || !failure_ || closing_) return;
  stop_ = cause;
  interrupt_.raise();
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
    closing_changed_.notify_all();
  }
  const std::lock_guard join_lock(join_mutex_);
  if (thread_ && thread_->joinable()) thread_->join();
}

void Engine::run() {
  block_signals();
  std::fesetenv(
      FE_DFL_ENV);  // threads inherit flush-to-zero from the one that made them; half floats need subnormals
  const Status cause = final_cause(serve());
  fail_all(cause);
  {
    std::unique_lock lock(mutex_);
    closing_changed_.wait(lock, [this] { return closing_; });  // links stay open: peers still read why
  }
  backend_->close();
}

Status Engine::serve() {
  while (true) {
    Operation operation;
    RING_TRY(next(operation));
    RING_TRY(execute(operation));
    {
      const std::lock_guard lock(mutex_);
      queue_.pop_front();
      running_ = false;
    }
    operation.work->finish(Status::ok());
  }
}

Status Engine::next(Operation& operation) {
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      idle_ = false;
      if (interrupt_.raised()) return {Code::kAborted, "interrupted", rank_};
      interrupt_.drain();
      if (!queue_.empty()) {
        operation = queue_.front();
        running_ = true;
        return Status::ok();
      }
      idle_ = true;
    }
    RING_TRY(backend_->watch(Deadline::after(kWatchSeconds)));
  }
}

Status Engine::execute(const Operation& operation) {
  const Named what(operation);
  const backend::Call call{what, operation.timeout_s};
  RING_TRY(agree(operation, call));
  return dispatch(operation, call);
}

Status Engine::agree(const Operation& operation, const backend::Call& call) {
  const Header mine = header_of(operation);
  Header previous;
  Header next;
  RING_TRY(backend_->swap_headers(Bytes(&mine, sizeof mine), MutableBytes(&previous, sizeof previous),
                                  MutableBytes(&next, sizeof next), call));
  const int before = (rank_ + size_ - 1) % size_;
  const int after = (rank_ + 1) % size_;
  return comm::agree({previous, before, backend_->host_of(before)}, {mine, rank_, backend_->host_of(rank_)},
                     {next, after, backend_->host_of(after)});
}

Status Engine::dispatch(const Operation& operation, const backend::Call& call) {
  if (operation.body) return operation.body(*backend_, interrupt_, call);
  const backend::Reduction reduction{operation.send, operation.recv, operation.dtype, operation.op};
  switch (operation.kind) {
    case Kind::kAllreduce:
      return backend_->allreduce(reduction, operation.counts[0], call);
    case Kind::kReducescatter:
      return backend_->reducescatter(reduction, operation.counts, call);
    case Kind::kBroadcast:
      return backend_->broadcast(MutableBytes(operation.recv, in_bytes(operation)[0]), operation.root, call);
    case Kind::kAllgather: {
      const auto bytes = in_bytes(operation);
      const Bytes send(operation.send, bytes[static_cast<std::size_t>(rank_)]);
      return backend_->allgather(send, operation.recv, bytes, call);
    }
    case Kind::kBarrier:
      return backend_->barrier(call);
  }
  return {Code::kInternal, "unknown collective"};
}

// Why all ends: a failure seen by the backend, or what this rank's own application asked for.
Status Engine::final_cause(const Status& seen) {
  Status cause = seen;
  if (interrupt_.raised()) {
    cause = stop_cause();
    if (!cause) return backend_->abort(cause);
    return {Code::kAborted, "the communicator is closed", rank_};
  }
  return backend_->abort(cause);
}

// Ok: closed with nothing pending, so that peers need no reason.
Status Engine::stop_cause() {
  const std::lock_guard lock(mutex_);
  if (!stop_) return stop_;
  if (queue_.empty()) return Status::ok();
  return {Code::kAborted,
          "rank " + std::to_string(rank_) + " closed its communicator while " +
              std::to_string(queue_.size()) + " collectives were pending",
          rank_, backend_->host_of(rank_)};
}

void Engine::fail_all(const Status& cause) {
  std::deque<Operation> left;
  bool running = false;
  {
    const std::lock_guard lock(mutex_);
    failure_ = cause;
    left.swap(queue_);
    running = std::exchange(running_, false);
  }
  for (const auto& operation : left) {
    operation.work->finish(failed(operation, running ? " failed" : " did not run", cause));
    running = false;
  }
}

}  // namespace ring::comm
