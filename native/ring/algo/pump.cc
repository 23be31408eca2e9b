#include "ring/algo/pump.h"

#include <sched.h>  // for sched_yield

#include <algorithm>  // for count, min
#include <chrono>     // for microseconds, steady_clock
#include <string>     // for to_string
#include <thread>     // for hardware_concurrency

namespace ring::algo {
namespace {

using Clock = std::chrono::steady_clock;

// Longer than an answer over shared memory takes, shorter than anybody would miss of a core.
constexpr auto kSpin = std::chrono::microseconds(50);

// Spinning helps only where every rank of this host can have a core.
bool cores_suffice(const transport::Mesh& mesh) {
  if (mesh.hosts.empty()) return false;
  const auto& own = mesh.hosts[static_cast<std::size_t>(mesh.rank)];
  const auto here = std::count(mesh.hosts.begin(), mesh.hosts.end(), own);
  return here <= static_cast<std::ptrdiff_t>(std::thread::hardware_concurrency());
}

std::size_t limit_of(const Send& send, const std::vector<Receive>& receives) {
  if (send.gate == kNoGate) return send.bytes.size;
  return std::min(send.bytes.size, receives[static_cast<std::size_t>(send.gate)].arrived);
}

bool is_open(const Send& send) {
  return send.sent < send.bytes.size;
}
bool is_open(const Receive& receive) {
  return receive.arrived < receive.total;
}

template <typename Transfer>
const Transfer* first_open(const std::vector<Transfer>& transfers) {
  const auto found = std::find_if(transfers.begin(), transfers.end(),
                                  [](const auto& transfer) { return is_open(transfer); });
  return found == transfers.end() ? nullptr : &*found;
}

// One want per peer, however many transfers there are with it.
void add_want(std::vector<transport::Want>& wants, int peer, unsigned interest) {
  for (auto& want : wants) {
    if (want.peer == peer) {
      want.interest |= interest;
      return;
    }
  }
  wants.push_back({peer, interest});
}

}  // namespace

Pump::Pump(transport::Mesh& mesh, const std::vector<int>& ranks, backend::Interrupt& interrupt)
    : mesh_(mesh), ranks_(ranks), interrupt_(interrupt), may_spin_(cores_suffice(mesh)) {}

Result<std::size_t> Pump::send_some(Send& send, const std::vector<Receive>& receives) {
  const std::size_t limit = limit_of(send, receives);
  if (send.sent >= limit) return std::size_t{0};
  auto moved = link(send.peer).send_some(Bytes(send.bytes.data + send.sent, limit - send.sent));
  if (moved) send.sent += moved.value();
  return moved;
}

Result<std::size_t> Pump::receive_some(Receive& receive) {
  if (!is_open(receive)) return std::size_t{0};
  const std::size_t filled = receive.arrived - receive.consumed;
  const std::size_t room = std::min(receive.window.size - filled, receive.total - receive.arrived);
  auto moved = link(receive.peer).recv_some(MutableBytes(receive.window.data + filled, room));
  if (!moved) return moved;
  receive.arrived += moved.value();
  const std::size_t pending = receive.arrived - receive.consumed;
  if (receive.consume && moved.value() > 0 && (pending == receive.window.size || !is_open(receive))) {
    receive.consume(receive.consumed, Bytes(receive.window.data, pending));
    receive.consumed = receive.arrived;
  }
  return moved;
}

Result<std::size_t> Pump::move_some(Transfers transfers) {
  std::size_t total = 0;
  for (auto& send : transfers.sends) {
    auto moved = send_some(send, transfers.receives);
    if (!moved) return moved;
    total += moved.value();
  }
  for (auto& receive : transfers.receives) {
    auto moved = receive_some(receive);
    if (!moved) return moved;
    total += moved.value();
  }
  return total;
}

Status Pump::run(std::vector<Send>& sends, std::vector<Receive>& receives, const backend::Call& call) {
  const Transfers transfers{sends, receives};
  auto idle_since = Clock::now();
  while (true) {
    const Receive* receive = first_open(receives);
    const Send* send = first_open(sends);
    if (receive == nullptr && send == nullptr) break;
    waited_for_ = world(receive != nullptr ? receive->peer : send->peer);
    if (interrupt_.raised()) return {Code::kAborted, call.what.name() + " was interrupted", mesh_.rank};
    auto moved = move_some(transfers);
    if (!moved) return moved.status();
    const auto now = Clock::now();
    if (moved.value() > 0) {
      idle_since = now;
      if (call.deadline.passed()) return timed_out(transfers, call);
    } else if (may_spin_ && now - idle_since < kSpin) {
      ::sched_yield();
    } else {
      RING_TRY(sleep(transfers, call));
      idle_since = Clock::now();
    }
  }
  waited_for_ = -1;
  return Status::ok();
}

Status Pump::sleep(Transfers transfers, const backend::Call& call) {
  wants_.clear();
  for (const auto& send : transfers.sends) {
    if (send.sent < limit_of(send, transfers.receives))
      add_want(wants_, world(send.peer), transport::kCanSend);
  }
  for (const auto& receive : transfers.receives) {
    if (is_open(receive)) add_want(wants_, world(receive.peer), transport::kCanRecv);
  }
  // Who left in order has sent all it had before its farewell, and the last moves came after that.
  for (const auto& want : wants_) {
    const auto peer = static_cast<std::size_t>(want.peer);
    if (mesh_.links[peer]->ended() && interrupt_.has_left(want.peer)) {
      return transport::left_rank(want.peer, mesh_.hosts[peer]);
    }
  }
  const auto woken = transport::wait_any(mesh_, wants_, interrupt_.fd(), interrupt_.next_wake(call.deadline));
  if (!woken) return woken.status();
  if (!woken.value() && call.deadline.passed()) return timed_out(transfers, call);
  if (!interrupt_.raised()) interrupt_.drain();
  return Status::ok();
}

Status Pump::timed_out(Transfers transfers, const backend::Call& call) const {
  const Receive* receive = first_open(transfers.receives);
  const Send* send = first_open(transfers.sends);
  if (receive == nullptr && send == nullptr) return Status::ok();  // the last byte came with the deadline
  const int peer = world(receive != nullptr ? receive->peer : send->peer);
  const auto& host = mesh_.hosts[static_cast<std::size_t>(peer)];
  auto seconds = std::to_string(call.timeout_s);
  seconds.resize(seconds.find('.') + 3);
  return {Code::kCollectiveTimeout,
          call.what.name() + ": rank " + std::to_string(mesh_.rank) + " waited " + seconds + " s " +
              (receive != nullptr ? "to receive from" : "to send to") + " rank " + std::to_string(peer) +
              " on " + host + "; it is stopped, stuck or runs other code",
          peer, host};
}

}  // namespace ring::algo
