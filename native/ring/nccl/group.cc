#include "ring/nccl/group.h"

#include <algorithm>  // for min
#include <chrono>     // for microseconds
#include <thread>     // for sleep_for

namespace ring::nccl {
namespace {

using std::chrono::microseconds;

constexpr int kEagerPolls = 50;  // before sleeping: a launch is ready within microseconds as a rule
constexpr microseconds kLongestPause{2000};
constexpr double kAbortPatienceSeconds = 1.0;  // for a caller that hangs inside NCCL with the lock

// Sleeps longer the longer it has been waited.
class Pace {
 public:
  void pause() {
    if (++rounds_ <= kEagerPolls) return std::this_thread::yield();
    std::this_thread::sleep_for(pause_);
    pause_ = std::min(pause_ * 2, kLongestPause);
  }

 private:
  int rounds_ = 0;
  microseconds pause_{20};
};

Config make_config() {
  Config config;
  config.blocking = 0;
  return config;
}

Status never() {
  return Status::ok();
}

}  // namespace

Result<UniqueId> Group::make_id(const Place& place) {
  const Current current(*place.device);
  UniqueId id{};
  const auto outcome = place.library->api().get_unique_id(&id);
  RING_TRY(failure_of(*place.library, nullptr, outcome, "ncclGetUniqueId", place.site));
  return id;
}

Result<std::unique_ptr<Group>> Group::connect(const Place& place, const UniqueId& id, Deadline deadline,
                                              const Stop& stop) {
  const Current current(*place.device);
  Config config = make_config();
  Comm comm = nullptr;
  const auto outcome = place.library->api().init_rank(&comm, place.size, id, place.site.rank, &config);
  std::unique_ptr<Group> group(new Group(place, comm));
  const Fault fault = group->settle("ncclCommInitRankConfig", outcome, deadline, stop);
  if (fault.status) return group;
  group->abort();
  if (fault.status.code() != Code::kCollectiveTimeout) return fault.status;
  return Status(Code::kRendezvousTimeout,
                "NCCL did not connect all " + std::to_string(place.size) +
                    " ranks in time: check that they reach "
                    "each other (NCCL_SOCKET_IFNAME names the interface; NCCL_DEBUG=INFO tells what it waits "
                    "for)",
                place.site.rank, place.site.host)
      .because(fault.status);
}

Group::~Group() {
  abort();
}

Group::Fault Group::launch(const std::string& what, Deadline deadline, const Calls& calls) {
  const Current current(*place_.device);
  Outcome outcome = kSuccess;
  {
    const std::lock_guard lock(mutex_);
    if (comm_ == nullptr)
      return {{Code::kAborted, "the NCCL communicator is aborted", place_.site.rank}, true};
    const Api& api = place_.library->api();
    outcome = api.group_start();
    if (outcome == kSuccess) {
      const Outcome called = calls(api, comm_);
      outcome = api.group_end();
      if (called != kSuccess && called != kInProgress) outcome = called;
    }
  }
  return settle(what, outcome, deadline, never);
}

Status Group::call(const std::string& what, const Calls& calls) {
  const Current current(*place_.device);
  Outcome outcome = kSuccess;
  {
    const std::lock_guard lock(mutex_);
    if (comm_ == nullptr) return {Code::kAborted, "the NCCL communicator is aborted", place_.site.rank};
    outcome = calls(place_.library->api(), comm_);
  }
  return fault(what, outcome).status;
}

Outcome Group::poll() {
  const std::lock_guard lock(mutex_);
  if (comm_ == nullptr) return kRemoteError;
  Outcome state = kSuccess;
  const Outcome asked = place_.library->api().get_async_error(comm_, &state);
  return asked == kSuccess ? state : asked;
}

Group::Fault Group::async_error() {
  const Outcome outcome = poll();
  return outcome == kInProgress ? Fault{} : fault("NCCL", outcome);
}

Group::Fault Group::settle(const std::string& what, Outcome outcome, Deadline deadline, const Stop& stop) {
  Pace pace;
  while (outcome == kInProgress) {
    if (auto cause = stop(); !cause) return {cause, true};
    if (deadline.passed()) {
      return {{Code::kCollectiveTimeout, what + " did not end in time on " + place_.device->describe(),
               place_.site.rank, place_.site.host},
              false};
    }
    pace.pause();
    outcome = poll();
  }
  return fault(what, outcome);
}

Group::Fault Group::fault(const std::string& what, Outcome outcome) {
  if (outcome == kSuccess) return {};
  const std::lock_guard lock(mutex_);  // another thread may abort
  return {failure_of(*place_.library, comm_, outcome, what, place_.site), is_echo(outcome)};
}

Result<std::unique_ptr<Group>> Group::split(int color, int key, int rank, int size, Deadline deadline,
                                            const Stop& stop) {
  const Current current(*place_.device);
  Config config = make_config();
  // NCCL writes the new communicator when it is ready, maybe after we have given up: then this stays behind.
  auto made = std::make_unique<Comm>(nullptr);
  Outcome outcome = kSuccess;
  {
    const std::lock_guard lock(mutex_);
    if (comm_ == nullptr) return Status(Code::kAborted, "the NCCL communicator is aborted", place_.site.rank);
    outcome = place_.library->api().split(comm_, color < 0 ? kNoColor : color, key, made.get(), &config);
  }
  const Fault fault = settle("ncclCommSplit", outcome, deadline, stop);
  if (!fault.status) {
    static_cast<void>(made.release());
    return fault.status;
  }
  Comm comm = __atomic_load_n(made.get(), __ATOMIC_ACQUIRE);
  if (comm == nullptr) return std::unique_ptr<Group>();
  Place place = place_;
  place.site.rank = rank;
  place.size = size;
  std::unique_ptr<Group> group(new Group(std::move(place), comm));
  const Fault ready = group->settle("ncclCommSplit", group->poll(), deadline, stop);
  if (!ready.status) return ready.status;
  return group;
}

void Group::abort() noexcept {
  const Deadline patience = Deadline::after(kAbortPatienceSeconds);
  std::unique_lock lock(mutex_, std::try_to_lock);
  while (!lock.owns_lock() && !patience.passed()) {
    std::this_thread::sleep_for(microseconds(200));
    static_cast<void>(lock.try_lock());
  }
  // Without the lock when a caller hangs in NCCL: to free it is what an abort is for.
  Comm comm = std::exchange(comm_, nullptr);
  if (lock.owns_lock()) lock.unlock();
  if (comm == nullptr) return;
  const Current current(*place_.device);
  static_cast<void>(place_.library->api().abort(comm));
}

Status Group::finish(Deadline deadline, const Stop& stop) {
  const Current current(*place_.device);
  Outcome outcome = kSuccess;
  {
    const std::lock_guard lock(mutex_);
    if (comm_ == nullptr) return Status::ok();
    outcome = place_.library->api().finalize(comm_);
  }
  const Fault fault = settle("ncclCommFinalize", outcome, deadline, stop);
  if (!fault.status) return fault.status;
  Outcome destroyed = kSuccess;
  {
    const std::lock_guard lock(mutex_);
    Comm comm = std::exchange(comm_, nullptr);
    if (comm != nullptr) destroyed = place_.library->api().destroy(comm);
  }
  return destroyed == kInProgress ? Status::ok() : this->fault("ncclCommDestroy", destroyed).status;
}

}  // namespace ring::nccl
