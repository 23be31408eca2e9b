#include "ring/transport/watcher.h"

#include <poll.h>         // for poll
#include <signal.h>       // for pthread_sigmask
#include <sys/eventfd.h>  // for eventfd
#include <unistd.h>       // for read, write

#include <cerrno>        // for errno
#include <chrono>        // for duration
#include <cstdint>       // for uint64_t
#include <system_error>  // for system_error
#include <utility>       // for move

namespace ring::transport {
namespace {

// A rank answers in well under a millisecond unless its machine is overloaded.
constexpr std::chrono::milliseconds kGrace{300};
constexpr int kTick_ms = 60'000;  // any: the watch starts anew

// Signals are for the application's own threads; faults stay with the thread that causes them.
void block_signals() {
  sigset_t signals;
  ::sigfillset(&signals);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::sigdelset(&signals, fault);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

bool is_empty(const Watcher::Lifelines& lifelines) {
  for (const auto& lifeline : lifelines) {
    if (lifeline) return false;
  }
  return true;
}

}  // namespace

Result<std::unique_ptr<Watcher>> Watcher::start(Lifelines lifelines, int rank, std::vector<std::string> hosts,
                                                backend::Interrupt& interrupt, std::function<void()> failed) {
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return Status::system("eventfd", errno, rank);
  const bool alone = is_empty(lifelines);
  std::unique_ptr<Watcher> watcher(new Watcher(std::move(lifelines), rank, std::move(hosts), interrupt,
                                               std::move(failed), std::move(wake)));
  if (alone) return watcher;
  try {
    watcher->thread_ = std::thread([raw = watcher.get()] { raw->run(); });
  } catch (const std::system_error& error) {
    return Status::system("thread", error.code().value(), rank);
  }
  return watcher;
}

Watcher::Watcher(Lifelines lifelines, int rank, std::vector<std::string> hosts, backend::Interrupt& interrupt,
                 std::function<void()> failed, UniqueFd wake)
    : rank_(rank),
      hosts_(std::move(hosts)),
      interrupt_(interrupt),
      failed_(std::move(failed)),
      wake_(std::move(wake)),
      lifelines_(std::move(lifelines)) {}

Watcher::~Watcher() {
  close();
}

Status Watcher::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

Status Watcher::abort(const Status& cause) {
  const std::lock_guard lock(mutex_);
  say(cause);
  return failure_;
}

Status Watcher::give_up(const Status& cause, int waited_for) {
  std::unique_lock lock(mutex_);
  if (waited_for >= 0) waited_for_ = waited_for;
  gave_up_ = true;
  const bool doubtful = failure_.code() == Code::kCollectiveTimeout;
  say(cause);
  answer();
  const auto own = views_.find(rank_);
  const Status start = doubtful && own != views_.end() ? own->second : failure_;
  heard_.wait_for(lock, kGrace, [&] { return closing_ || resolve(start, views_).settled; });
  failure_ = resolve(start, views_).cause;
  return failure_;
}

void Watcher::close() noexcept {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    heard_.notify_all();
  }
  wake();
  const std::lock_guard join_lock(join_mutex_);
  if (thread_.joinable()) thread_.join();
  const std::lock_guard lock(mutex_);
  for (auto& lifeline : lifelines_) {
    if (lifeline) lifeline->close();
  }
  lifelines_.clear();
}

void Watcher::run() {
  block_signals();
  std::vector<pollfd> fds;
  std::vector<std::size_t> begin;  // by rank: where its descriptors are in `fds`, one more at the end
  while (true) {
    fds.assign(1, {wake_.get(), POLLIN, 0});
    begin.clear();
    {
      const std::lock_guard lock(mutex_);
      if (closing_) return;
      for (const auto& lifeline : lifelines_) {
        begin.push_back(fds.size());
        if (lifeline) lifeline->watch(fds);
      }
    }
    begin.push_back(fds.size());
    if (::poll(fds.data(), fds.size(), kTick_ms) <= 0) continue;
    std::uint64_t count = 0;
    if (fds[0].revents != 0) [[maybe_unused]]
      const auto got = ::read(wake_.get(), &count, sizeof count);
    attend_all(fds, begin);
  }
}

void Watcher::attend_all(const std::vector<pollfd>& fds, const std::vector<std::size_t>& begin) {
  bool has_failed = false;
  {
    const std::lock_guard lock(mutex_);
    const bool had_failed = !failure_.is_ok();
    for (std::size_t peer = 0; peer < lifelines_.size(); ++peer) {
      bool woken = false;
      for (std::size_t i = begin[peer]; i < begin[peer + 1]; ++i) woken = woken || fds[i].revents != 0;
      if (woken) attend(*lifelines_[peer]);
    }
    has_failed = !had_failed && !failure_.is_ok();
  }
  if (has_failed && failed_) failed_();
}

void Watcher::attend(Lifeline& lifeline) {
  (void)lifeline.check();
  for (const Frame& frame : lifeline.take_frames()) {
    const int origin = frame.kind == FrameKind::kBye ? lifeline.peer() : frame.origin;
    if (!is_rank(origin)) continue;  // from nobody: not worth an answer
    if (frame.kind == FrameKind::kAbort) {
      hear(origin, frame.cause, lifeline.peer());
    } else {
      hear_of_leaving(origin, lifeline.peer());
    }
  }
  if (!lifeline.lost().is_ok()) hear(lifeline.peer(), lifeline.lost(), lifeline.peer());
}

void Watcher::hear_of_leaving(int origin, int from) {
  if (origin == rank_ || !left_.insert(origin).second) return;
  tell(encode_left(origin), from, origin);
  interrupt_.mark_left(origin);
}

// This rank's own view. Beside a time-out, which blames by guess, any other cause is worth telling.
void Watcher::say(const Status& cause) {
  const bool doubtful = failure_.code() == Code::kCollectiveTimeout;
  if (failure_.is_ok() || (doubtful && cause.code() != Code::kAborted)) hear(rank_, cause, rank_);
}

void Watcher::hear(int origin, const Status& said, int from) {
  const bool lacks_host = said.host().empty() && is_rank(said.rank());
  const Status view = lacks_host ? Status(said.code(), said.report(), said.rank(),
                                          hosts_[static_cast<std::size_t>(said.rank())])
                                       .with_missing(said.missing())
                                 : said;
  if (!views_.emplace(origin, view).second) return;
  tell(encode_abort(origin, view), from, origin);
  if (failure_.is_ok()) {
    failure_ = view;
    interrupt_.raise();
  }
  answer();
  heard_.notify_all();
}

// A rank that is blamed for a time-out says whom it waited for itself, as soon as it has given up.
void Watcher::answer() {
  if (!gave_up_ || views_.count(rank_) != 0) return;
  for (const auto& [origin, view] : views_) {
    if (view.code() != Code::kCollectiveTimeout || view.rank() != rank_) continue;
    const Status own = own_view(view, rank_, waited_for_, hosts_);
    views_.emplace(rank_, own);
    tell(encode_abort(rank_, own), rank_, rank_);
    heard_.notify_all();
    return;
  }
}

void Watcher::tell(const std::string& frame, int from, int origin) {
  for (auto& lifeline : lifelines_) {
    if (lifeline && lifeline->peer() != from && lifeline->peer() != origin) lifeline->send(frame);
  }
  wake();  // a socket that was full is looked at again when it has room
}

void Watcher::wake() const noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof one);
}

bool Watcher::is_rank(int rank) const noexcept {
  return rank >= 0 && static_cast<std::size_t>(rank) < hosts_.size();
}

}  // namespace ring::transport
