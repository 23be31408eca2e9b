#include "ring/nccl/watcher.h"

#include <signal.h>  // for pthread_sigmask, sigset_t

#include <chrono>   // for milliseconds
#include <utility>  // for move

namespace ring::nccl {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kBusyPause{5};
constexpr milliseconds kIdlePause{50};
// How long an echo of another rank's failure waits for that rank's own words over the host ring.
constexpr double kEchoPatienceSeconds = 2.0;
constexpr double kReportPatienceSeconds = kEchoPatienceSeconds + 3.0;

// Signals are for the application's own threads.
void block_signals() {
  sigset_t signals;
  ::sigfillset(&signals);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::sigdelset(&signals, fault);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

// Lets this thread ask for events while another one captures a graph.
void relax_capture(const Device& device) {
  int relaxed = 2;
  if (device.api().exchange_capture_mode != nullptr) device.api().exchange_capture_mode(&relaxed);
}

}  // namespace

Watcher::Watcher(Group& group, HostRing host, std::shared_ptr<Fate> fate)
    : group_(group), host_(std::move(host)), fate_(std::move(fate)) {
  thread_ = std::make_unique<std::thread>([this] { run(); });
}

Watcher::~Watcher() {
  close();
}

void Watcher::add(DeviceWorkPtr work) {
  const std::lock_guard lock(mutex_);
  flying_.push_back(std::move(work));
  if (flying_.size() == 1) changed_.notify_all();
}

Status Watcher::report(Group::Fault fault) {
  const Status own = fault.status;
  {
    const std::lock_guard lock(mutex_);
    if (reported_.status) reported_ = std::move(fault);
    changed_.notify_all();
  }
  const Status cause = fate_->failure_within(kReportPatienceSeconds);
  return cause ? own : cause;
}

void Watcher::close() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
  if (thread_ && thread_->joinable()) thread_->join();
}

void Watcher::run() {
  block_signals();
  relax_capture(*group_.place().device);
  while (look()) {
    std::unique_lock lock(mutex_);
    if (closing_) return;
    if (!reported_.status) continue;
    const bool busy = !flying_.empty();
    changed_.wait_for(lock, busy ? kBusyPause : kIdlePause,
                      [&] { return closing_ || !reported_.status || busy == flying_.empty(); });
  }
}

// False once there is nothing left to look after.
bool Watcher::look() {
  if (auto cause = host_.failure(); !cause) {
    settle({cause, false});
    return false;
  }
  Group::Fault fault;
  {
    const std::lock_guard lock(mutex_);
    fault = reported_;
  }
  if (fault.status) fault = group_.async_error();
  if (fault.status) fault.status = overdue();
  if (fault.status) return true;
  settle(fault);
  return false;
}

void Watcher::settle(const Group::Fault& fault) {
  Status cause = host_.failure();
  const Deadline patience = Deadline::after(fault.echo ? kEchoPatienceSeconds : 0);
  while (cause && !patience.passed()) {
    std::this_thread::sleep_for(milliseconds(2));
    cause = host_.failure();
  }
  if (cause) {
    host_.fail(fault.status);
    cause = fault.status;
  }
  fate_->seal(cause);  // before the abort, which lets events pass
  group_.abort();
}

Status Watcher::overdue() {
  DeviceWorkPtr first;
  {
    const std::lock_guard lock(mutex_);
    while (!flying_.empty() && flying_.front()->done()) {
      flying_.pop_front();
      has_begun_ = false;
    }
    if (flying_.empty()) return Status::ok();
    first = flying_.front();
  }
  const auto now = Deadline::Clock::now();
  if (!has_begun_) {
    has_begun_ = first->started();
    begun_ = now;
  }
  const double waited = std::chrono::duration<double>(now - begun_).count();
  if (!has_begun_ || waited < first->timeout_s()) return Status::ok();
  const Site& site = group_.place().site;
  return {Code::kCollectiveTimeout,
          first->name() + " did not end within " + std::to_string(first->timeout_s()) + " s on " +
              site.device + " of rank " + std::to_string(site.rank) +
              " after it began there: a device or its network hangs",
          site.rank, site.host};
}

}  // namespace ring::nccl
