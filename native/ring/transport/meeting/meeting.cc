#include "ring/transport/meeting/meeting.h"

#include <poll.h>  // for poll

#include <cerrno>   // for errno
#include <string>   // for string
#include <utility>  // for move
#include <vector>   // for vector

#include "ring/base/random.h"
#include "ring/transport/choice.h"
#include "ring/transport/meeting/dialer.h"

namespace ring::transport {
namespace {

constexpr int kTick_ms = 50;  // pauses and time limits of single connections are looked at this often

class Meeting {
 public:
  Meeting(const Context& context, Doors doors)
      : context_(context), gathering_(context), doorman_(context, doors.tcp_listener, doors.unix_listener) {}

  Status run(Deadline deadline) {
    RING_TRY(plan_dialling());
    while (true) {
      RING_TRY(doorman_.advance(gathering_));
      for (Dialer& dialer : dialers_) RING_TRY(dialer.advance(gathering_));
      RING_TRY(gathering_.check());
      if (gathering_.missing().empty()) return {};
      if (deadline.passed()) return timed_out();
      if (context_.cancelled && context_.cancelled()) return given_up();
      RING_TRY(sleep(deadline));
    }
  }

  void abort(const Status& cause) { gathering_.abort(cause); }
  [[nodiscard]] Mesh take_mesh() { return gathering_.take(); }
  [[nodiscard]] const Refusals& refusals() const { return doorman_.refusals(); }

 private:
  // Looks at every pair that this rank is in, so that both ends of one that cannot be see it before they
  // wait.
  Status plan_dialling() {
    const int self = context_.self.rank;
    const auto& own = context_.addresses[static_cast<std::size_t>(self)];
    for (int peer = 0; peer < context_.self.size; ++peer) {
      if (peer == self) continue;
      auto choice = choose_path(own, context_.addresses[static_cast<std::size_t>(peer)]);
      if (!choice) {
        const Status why = choice.status();
        return {why.code(), context_.name_of(peer) + ": " + why.message(), peer, context_.host_of(peer)};
      }
      if (peer > self) continue;
      std::uint64_t pairing = 0;
      RING_TRY(fill_random(MutableBytes(&pairing, sizeof pairing)));
      dialers_.emplace_back(context_, peer, std::move(choice).value(), pairing);
    }
    return {};
  }

  Status sleep(Deadline deadline) {
    std::vector<pollfd> fds;
    doorman_.watch(fds);
    for (const Dialer& dialer : dialers_) dialer.watch(fds);
    gathering_.watch(fds);
    if (::poll(fds.data(), fds.size(), deadline.poll_ms(kTick_ms)) < 0 && errno != EINTR) {
      return Status::system("poll", errno, context_.self.rank);
    }
    return {};
  }

  Status timed_out() const {
    const auto missing = gathering_.missing();
    std::string text = "rank " + std::to_string(context_.self.rank) + " still waits for ";
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
  Doorman doorman_;
  std::vector<Dialer> dialers_;
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
