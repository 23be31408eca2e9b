#include "ring/algo/wire/pump.h"

#include <sched.h>  // for sched_yield

#include <algorithm>  // for min
#include <cerrno>     // for errno
#include <cstring>    // for memcpy
#include <string>     // for string, to_string
#include <thread>     // for hardware_concurrency

namespace ring::algo::wire {
namespace {

using backend::kHeaderBytes;

// At most so much in one call, so that sending and receiving take turns and what came is still in the cache.
constexpr std::size_t kBlock = 256 * 1024;
// With more lanes, one that would block is left alone until poll says otherwise.
constexpr std::size_t kFewLanes = 16;
// How long ranks that disagree wait for other headers, to tell who is alone.
constexpr double kGrace_s = 0.2;
// How long after the end of a stream its lifeline may take to say why. It ends with the stream when a process
// dies, and before it in any other order; only our own watcher may be late.
constexpr double kWordGrace_s = 1.0;

std::string seconds_text(double seconds) {
  auto text = std::to_string(seconds);
  text.resize(text.find('.') + 3);
  return text;
}

}  // namespace

Pump::Pump(transport::Mesh& mesh, backend::Interrupt& interrupt, backend::Meter& meter)
    : mesh_(mesh), interrupt_(interrupt), meter_(meter) {
  if (mesh.size > static_cast<int>(std::thread::hardware_concurrency())) budget_.missed();
}

void Pump::add(int peer, Outgoing* out, Incoming* in) {
  for (std::size_t i = 0; i < num_lanes_; ++i) {
    if (lanes_[i]->peer != peer) continue;
    if (out != nullptr) lanes_[i]->out = out;
    if (in != nullptr) lanes_[i]->in = in;
    return;
  }
  add_new(peer, out, in);
}

void Pump::add_new(int peer, Outgoing* out, Incoming* in) {
  if (num_lanes_ == lanes_.size()) lanes_.push_back(std::make_unique<Lane>());
  Lane& lane = *lanes_[num_lanes_++];
  lane.peer = peer;
  lane.link = mesh_.links[static_cast<std::size_t>(peer)].get();
  lane.out = out;
  lane.in = in;
  lane.send_blocked = lane.recv_blocked = lane.agreed = false;
  lane.patience.reset();
  lane.sending.filled = lane.sending.used = lane.receiving.filled = lane.receiving.used = 0;
}

// The header, and what of the data is there already and fits beside it.
void Pump::stage(Lane& lane, Bytes header) {
  Stage& stage = lane.sending;
  std::memcpy(stage.bytes.data(), header.data, kHeaderBytes);
  stage.filled = kHeaderBytes;
  if (lane.out == nullptr) return;
  const Bytes ready = lane.out->ready();
  const std::size_t taken = std::min(ready.size, kStage - kHeaderBytes);
  if (taken == 0) return;
  std::memcpy(stage.bytes.data() + kHeaderBytes, ready.data, taken);
  stage.filled += taken;
  lane.out->sent(taken);
}

bool Pump::has_unsent(const Lane& lane) {
  return lane.sending.used < lane.sending.filled || (lane.out != nullptr && !lane.out->done());
}

bool Pump::can_send(const Lane& lane) {
  if (lane.sending.used < lane.sending.filled) return true;
  return lane.out != nullptr && lane.out->ready().size > 0;
}

bool Pump::awaits(const Lane& lane) {
  return !lane.agreed || lane.receiving.used < lane.receiving.filled ||
         (lane.in != nullptr && lane.in->left() > 0);
}

bool Pump::can_recv(const Lane& lane) {
  if (!lane.agreed) return true;
  return lane.in != nullptr && lane.receiving.used == lane.receiving.filled && lane.in->left() > 0 &&
         lane.in->room().size > 0;
}

Result<std::size_t> Pump::send_some(Lane& lane) {
  Stage& stage = lane.sending;
  const bool staged = stage.used < stage.filled;
  Bytes bytes(stage.bytes.data() + stage.used, stage.filled - stage.used);
  if (!staged) bytes = lane.out->ready();
  bytes.size = std::min(bytes.size, kBlock);
  auto moved = lane.link->send_some(bytes);
  if (!moved) return moved;
  const std::size_t count = moved.value();
  lane.send_blocked = count == 0;
  if (staged) {
    stage.used += count;
  } else if (count > 0) {
    lane.out->sent(count);
  }
  meter_.sent_bytes += count;
  return moved;
}

// The header and no more than what belongs to this collective behind it.
Result<std::size_t> Pump::recv_staged(Lane& lane, const backend::Call& call) {
  Stage& stage = lane.receiving;
  const std::uint64_t data = lane.in == nullptr ? 0 : lane.in->left();
  const std::size_t wanted = std::min<std::uint64_t>(kStage, kHeaderBytes + data);
  auto moved = lane.link->recv_some(MutableBytes(stage.bytes.data() + stage.filled, wanted - stage.filled));
  if (!moved) return moved;
  stage.filled += moved.value();
  lane.recv_blocked = moved.value() == 0;
  if (stage.filled < kHeaderBytes) return moved;
  const Bytes theirs(stage.bytes.data(), kHeaderBytes);
  if (std::memcmp(theirs.data, call.what.header().data, kHeaderBytes) != 0) {
    const Status difference = call.what.compare(lane.peer, theirs);
    if (!difference) return blame(difference, lane);
  }
  lane.agreed = true;
  stage.used = kHeaderBytes;
  unstage(lane);
  return moved;
}

// What came along with the header -> its place, as far as there is room.
std::size_t Pump::unstage(Lane& lane) {
  Stage& stage = lane.receiving;
  std::size_t total = 0;
  while (stage.used < stage.filled) {
    const MutableBytes room = lane.in->room();
    const std::size_t count = std::min(room.size, stage.filled - stage.used);
    if (count == 0) break;
    std::memcpy(room.data, stage.bytes.data() + stage.used, count);
    stage.used += count;
    total += count;
    lane.in->received(count);
  }
  return total;
}

Result<std::size_t> Pump::recv_some(Lane& lane, const backend::Call& call) {
  if (!lane.agreed) {
    auto moved = recv_staged(lane, call);
    if (moved) meter_.received_bytes += moved.value();
    return moved;
  }
  MutableBytes room = lane.in->room();
  room.size = std::min<std::uint64_t>({room.size, kBlock, lane.in->left()});
  auto moved = lane.link->recv_some(room);
  if (!moved) return moved;
  lane.recv_blocked = moved.value() == 0;
  if (moved.value() > 0) lane.in->received(moved.value());
  meter_.received_bytes += moved.value();
  return moved;
}

Result<std::size_t> Pump::move_some(const backend::Call& call) {
  const bool few = num_lanes_ <= kFewLanes;
  std::size_t total = 0;
  for (std::size_t i = 0; i < num_lanes_; ++i) {
    Lane& lane = *lanes_[i];
    if ((few || !lane.send_blocked) && can_send(lane)) {
      auto moved = send_some(lane);
      if (!moved) return moved;
      total += moved.value();
    }
    if (lane.agreed) total += unstage(lane);
    if ((few || !lane.recv_blocked) && can_recv(lane)) {
      auto moved = recv_some(lane, call);
      if (!moved) return moved;
      total += moved.value();
    }
  }
  return total;
}

bool Pump::is_done() const {
  for (std::size_t i = 0; i < num_lanes_; ++i) {
    if (has_unsent(*lanes_[i]) || awaits(*lanes_[i])) return false;
  }
  return true;
}

Status Pump::run(const backend::Call& call) {
  for (std::size_t i = 0; i < num_lanes_; ++i) stage(*lanes_[i], call.what.header());
  const std::uint64_t headers = num_lanes_ * kHeaderBytes;
  while (!is_done()) {
    if (interrupt_.raised()) return interrupted(call);
    const auto moved = move_some(call);
    if (!moved) return moved.status();
    if (moved.value() == 0) {
      RING_TRY(wait(call));
    } else if (call.deadline.passed() && !is_done()) {
      return timed_out(call);
    }
  }
  meter_.sent_bytes -= headers;  // data only
  meter_.received_bytes -= headers;
  waited_for_ = -1;
  return Status::ok();
}

Status Pump::interrupted(const backend::Call& call) {
  if (const Lane* lane = first_waiting()) waited_for_ = lane->peer;
  return {Code::kAborted, call.what.name() + " was interrupted", mesh_.rank};
}

// Spins while that pays, then sleeps; returns when something may move.
Status Pump::wait(const backend::Call& call) {
  const auto start = Clock::now();
  const auto budget = std::chrono::nanoseconds(budget_.next());
  auto now = start;
  bool came = false;
  while (!came && now - start < budget && !interrupt_.raised()) {
    const auto moved = move_some(call);
    if (!moved) return moved.status();
    came = moved.value() > 0;
    now = Clock::now();
  }
  if (came) {
    budget_.rewarded((now - start).count());
  } else {
    if (budget.count() > 0) budget_.missed();
    RING_TRY(sleep(call));
    now = Clock::now();
  }
  meter_.wait_ns += static_cast<std::uint64_t>((now - start).count());
  return Status::ok();
}

bool Pump::arm() {
  fds_.clear();
  first_fd_.clear();
  bool met = false;
  for (std::size_t i = 0; i < num_lanes_; ++i) {
    Lane& lane = *lanes_[i];
    first_fd_.push_back(fds_.size());
    const unsigned interest =
        (can_send(lane) ? transport::kCanSend : 0U) | (can_recv(lane) ? transport::kCanRecv : 0U);
    if (interest == transport::kNone || !lane.link->arm(interest, fds_)) continue;
    lane.send_blocked = lane.recv_blocked = false;
    met = true;
  }
  first_fd_.push_back(fds_.size());
  return met;
}

Status Pump::sleep(const backend::Call& call) {
  if (arm()) return Status::ok();
  fds_.push_back({interrupt_.fd(), POLLIN, 0});
  while (true) {
    RING_TRY(check_ended(call));
    Deadline wake = interrupt_.next_wake(call.deadline);
    if (is_ending_) wake = wake.but_within(kGrace_s);
    const int count = ::poll(fds_.data(), fds_.size(), wake.poll_ms());
    if (count < 0 && errno != EINTR) return Status::system("poll", errno, mesh_.rank);
    if (count > 0) break;
    if (interrupt_.raised()) return Status::ok();
    if (call.deadline.passed()) return timed_out(call);
  }
  for (std::size_t i = 0; i < num_lanes_; ++i) {
    for (std::size_t fd = first_fd_[i]; fd < first_fd_[i + 1]; ++fd) {
      if (fds_[fd].revents != 0) lanes_[i]->send_blocked = lanes_[i]->recv_blocked = false;
    }
  }
  if (!interrupt_.raised()) interrupt_.drain();
  return Status::ok();
}

// A peer whose stream has ended will not give what is still needed: it closed in order, or its connection is
// cut although it lives.
Status Pump::check_ended(const backend::Call& call) {
  is_ending_ = false;
  for (std::size_t i = 0; i < num_lanes_; ++i) {
    Lane& lane = *lanes_[i];
    if ((!has_unsent(lane) && !awaits(lane)) || !lane.link->ended()) continue;
    if (!lane.patience) lane.patience = Deadline::after(kWordGrace_s);
    const bool left = interrupt_.has_left(lane.peer);
    is_ending_ = true;
    if (!left && !lane.patience->passed()) continue;
    waited_for_ = lane.peer;
    const auto& host = mesh_.hosts[static_cast<std::size_t>(lane.peer)];
    return {Code::kPeerLost,
            call.what.name() + ": rank " + std::to_string(lane.peer) + " on " + host +
                (left ? " closed its communicator while this rank still needs it"
                      : " is lost: its data connection has ended without a word why"),
            lane.peer, host};
  }
  return Status::ok();
}

// Who has not said anything yet comes first: others may wait for it as this rank does.
const Pump::Lane* Pump::first_waiting() const {
  const Lane* best = nullptr;
  for (std::size_t i = 0; i < num_lanes_; ++i) {
    const Lane& lane = *lanes_[i];
    if (!lane.agreed) return &lane;
    if (best == nullptr && awaits(lane)) best = &lane;
  }
  for (std::size_t i = 0; best == nullptr && i < num_lanes_; ++i) {
    if (has_unsent(*lanes_[i])) best = lanes_[i].get();
  }
  return best;
}

Status Pump::timed_out(const backend::Call& call) {
  const Lane* lane = first_waiting();
  if (lane == nullptr) return Status::ok();  // the last byte came with the deadline
  waited_for_ = lane->peer;
  const auto& host = mesh_.hosts[static_cast<std::size_t>(lane->peer)];
  return {Code::kCollectiveTimeout,
          call.what.name() + ": rank " + std::to_string(mesh_.rank) + " waited " +
              seconds_text(call.timeout_s) + (awaits(*lane) ? " s to receive from" : " s to send to") +
              " rank " + std::to_string(lane->peer) + " on " + host +
              "; it is stopped, stuck or runs other code",
          lane->peer, host};
}

// Two headers differ. Where the other peers agree among themselves against this rank, it is the one to blame;
// between two ranks, where nobody can tell, the one with the higher number.
Status Pump::blame(const Status& difference, Lane& odd) {
  odd.agreed = true;
  collect_headers(Deadline::after(kGrace_s));
  int heard = 0;
  for (std::size_t i = 0; i < num_lanes_; ++i) {
    const Stage& stage = lanes_[i]->receiving;
    if (stage.filled < kHeaderBytes) continue;
    const bool same = std::memcmp(stage.bytes.data(), odd.receiving.bytes.data(), kHeaderBytes) == 0;
    if (!same) return difference;
    ++heard;
  }
  if (heard < 2 && odd.peer > mesh_.rank) return difference;
  return {difference.code(), difference.message(), mesh_.rank,
          mesh_.hosts[static_cast<std::size_t>(mesh_.rank)]};
}

// Best effort: nothing else is moved any more.
void Pump::collect_headers(Deadline deadline) {
  while (!deadline.passed() && !interrupt_.raised()) {
    bool missing = false;
    for (std::size_t i = 0; i < num_lanes_; ++i) {
      Lane& lane = *lanes_[i];
      if (lane.sending.used < lane.sending.filled) static_cast<void>(send_some(lane));
      Stage& stage = lane.receiving;
      if (stage.filled >= kHeaderBytes || lane.link->ended()) continue;
      missing = true;
      const MutableBytes room(stage.bytes.data() + stage.filled, kHeaderBytes - stage.filled);
      const auto moved = lane.link->recv_some(room);
      if (!moved) return;
      stage.filled += moved.value();
    }
    if (!missing) return;
    ::poll(nullptr, 0, 1);
  }
}

}  // namespace ring::algo::wire
