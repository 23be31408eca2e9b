#include "ring/transport/meeting/meeting.h"

#include <poll.h>  // for poll

#include <algorithm>  // for max
#include <cerrno>     // for errno
#include <optional>   // for optional
#include <string>     // for string
#include <utility>    // for move
#include <vector>     // for vector

#include "ring/transport/meeting/dialer.h"
#include "ring/transport/meeting/gathering.h"
#include "ring/transport/meeting/rollcall.h"

namespace ring::transport {
namespace {

constexpr double kGrace_s = 0.5;
constexpr int kTick_ms = 50;  // pauses and time limits of single connections are looked at this often

class Meeting {
 public:
  Meeting(const Context& context, Doors doors)
      : context_(context),
        gathering_(context),
        rollcall_(context),
        doorman_(context, doors.tcp_listener, doors.unix_listener) {}

  Status run(Deadline deadline) {
    RING_TRY(plan_dialling());
    while (true) {
      RING_TRY(doorman_.advance(gathering_));
      for (Dialer& dialer : dialers_) RING_TRY(dialer.advance(gathering_));
      RING_TRY(gathering_.check());
      RING_TRY(rollcall_.advance(gathering_));
      if (rollcall_.may_go()) return {};
      if (deadline.passed() && is_out_of_patience()) return timed_out();
      if (context_.cancelled && context_.cancelled()) return given_up();
      RING_TRY(sleep(deadline));
    }
  }

  void abort(const Status& cause) { gathering_.abort(cause); }
  [[nodiscard]] Mesh take_mesh() {
    Mesh mesh = gathering_.take();
    mesh.segment = rollcall_.take_segment();
    return mesh;
  }
  [[nodiscard]] const Refusals& refusals() const { return doorman_.refusals(); }

 private:
  Status plan_dialling() {
    for (const int peer : plan::local_neighbours(context_.topology)) {
      RING_TRY(plan_to_dial(peer, {Channel::kUnixControl}));
    }
    for (const int peer : plan::rail_neighbours(context_.topology)) {
      std::vector<Channel> channels = data_channels(Channel::kTcpData, context_.streams_to(peer));
      channels.push_back(Channel::kTcpControl);
      RING_TRY(plan_to_dial(peer, channels));
    }
    return {};
  }

  Status plan_to_dial(int peer, const std::vector<Channel>& channels) {
    if (peer > context_.self.rank) return {};
    auto dialer = Dialer::to(context_, peer, channels);
    if (!dialer) return dialer.status();
    dialers_.push_back(std::move(dialer).value());
    return {};
  }

  // Who has met its own neighbours does not know who is missing elsewhere, and leaves it to others to say so.
  bool is_out_of_patience() {
    if (!grace_) grace_ = Deadline::after(gathering_.missing().empty() ? kGrace_s : 0);
    return grace_->passed();
  }

  Status sleep(Deadline deadline) {
    std::vector<pollfd> fds;
    doorman_.watch(fds);
    for (const Dialer& dialer : dialers_) dialer.watch(fds);
    gathering_.watch(fds);
    const int tick = grace_ ? grace_->poll_ms(kTick_ms) : deadline.poll_ms(kTick_ms);
    if (::poll(fds.data(), fds.size(), tick) < 0 && errno != EINTR) {
      return Status::system("poll", errno, context_.self.rank);
    }
    return {};
  }

  Status timed_out() {
    auto missing = gathering_.missing();
    std::string text = "rank " + std::to_string(context_.self.rank) + " still waits for ";
    if (missing.empty()) {
      missing.push_back(std::max(0, rollcall_.waits_for(gathering_)));
      text += "word that all have met from ";
    }
    for (std::size_t i = 0; i < missing.size(); ++i) {
      text += (i == 0 ? "" : ", ") + context_.name_of(missing[i]) + trouble_with(missing[i]);
    }
    const std::string strangers = doorman_.refusals().describe();
    if (!strangers.empty()) text += "; connections refused here: " + strangers;
    return Status(Code::kRendezvousTimeout, text, missing.front(), context_.host_of(missing.front()))
        .with_missing(missing);
  }

  Status given_up() const {
    const int self = context_.self.rank;
    return {Code::kAborted, context_.name_of(self) + " gave up meeting the others", self,
            context_.host_of(self)};
  }

  std::string trouble_with(int peer) const {
    for (const Dialer& dialer : dialers_) {
      if (dialer.peer() == peer && !dialer.trouble().empty()) return " (" + dialer.trouble() + ")";
    }
    return {};
  }

  const Context& context_;
  Gathering gathering_;
  Rollcall rollcall_;
  Doorman doorman_;
  std::vector<Dialer> dialers_;
  std::optional<Deadline> grace_;  // once the deadline has passed
};

}  // namespace

Result<Mesh> meet(const Context& context, Doors doors, Deadline deadline, Refusals& refusals) {
  Meeting meeting(context, doors);
  const Status met = meeting.run(deadline);
  refusals = meeting.refusals();
  if (met) return meeting.take_mesh();
  meeting.abort(met);
  return met;
}

}  // namespace ring::transport
