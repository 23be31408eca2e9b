#include "ring/transport/meeting/extender.h"

#include <poll.h>  // for poll

#include <algorithm>  // for find
#include <cerrno>     // for errno
#include <string>     // for string, to_string
#include <utility>    // for move
#include <vector>     // for vector

#include "ring/base/fork_guard.h"
#include "ring/transport/lifeline.h"
#include "ring/transport/meeting/dialer.h"
#include "ring/transport/meeting/doorman.h"
#include "ring/transport/tcp/link.h"

namespace ring::transport {
namespace {

constexpr int kTick_ms = 50;  // pauses and time limits of single connections are looked at this often

using Links = std::vector<std::unique_ptr<Link>>;

// The ranks that are awaited, and the links to those that have come.
class Newcomers final : public Guests {
 public:
  Newcomers(Links& links, const std::vector<int>& peers) : links_(links) {
    for (const int peer : peers) {
      if (!links[static_cast<std::size_t>(peer)]) awaited_.push_back(peer);
    }
  }

  [[nodiscard]] bool expects(int peer, Channel channel) const override {
    const bool named = std::find(awaited_.begin(), awaited_.end(), peer) != awaited_.end();
    return channel == Channel::kMoreData && named;
  }
  [[nodiscard]] bool is_taken(int peer, Channel, std::uint64_t) const override {
    return links_[static_cast<std::size_t>(peer)] != nullptr;
  }
  void add(int peer, Proven connection) override {
    links_[static_cast<std::size_t>(peer)] =
        std::make_unique<tcp::TcpLink>(peer, std::move(connection.socket));
  }

  [[nodiscard]] const std::vector<int>& awaited() const noexcept { return awaited_; }
  [[nodiscard]] int first_missing() const {
    for (const int peer : awaited_) {
      if (!links_[static_cast<std::size_t>(peer)]) return peer;
    }
    return -1;
  }

 private:
  Links& links_;
  std::vector<int> awaited_;
};

class TcpExtender final : public Extender {
 public:
  TcpExtender(Context context, UniqueFd listener)
      : context_(std::move(context)), listener_(std::move(listener)) {
    context_.cancelled = nullptr;
  }

  Status extend(Links& links, const std::vector<int>& peers, Deadline deadline,
                backend::Interrupt& interrupt) override {
    Newcomers newcomers(links, peers);
    Doorman doorman(context_, listener_.get(), -1);
    std::vector<Dialer> dialers;
    for (const int peer : newcomers.awaited()) {
      if (peer > context_.self.rank) continue;
      auto dialer = Dialer::to(context_, peer, {Channel::kMoreData});
      if (!dialer) return dialer.status();
      dialers.push_back(std::move(dialer).value());
    }
    while (true) {
      RING_TRY(doorman.advance(newcomers));
      for (Dialer& dialer : dialers) RING_TRY(dialer.advance(newcomers));
      const int missing = newcomers.first_missing();
      if (missing < 0) return {};
      if (interrupt.raised()) return {Code::kAborted, "interrupted", context_.self.rank};
      if (interrupt.has_left(missing)) return left_rank(missing, context_.host_of(missing));
      if (deadline.passed()) return timed_out(missing, doorman.refusals());
      std::vector<pollfd> fds{{interrupt.fd(), POLLIN, 0}};
      doorman.watch(fds);
      for (const Dialer& dialer : dialers) dialer.watch(fds);
      const int tick = interrupt.next_wake(deadline).poll_ms(kTick_ms);
      if (::poll(fds.data(), fds.size(), tick) < 0 && errno != EINTR) {
        return Status::system("poll", errno, context_.self.rank);
      }
      if (!interrupt.raised()) interrupt.drain();
    }
  }

 private:
  [[nodiscard]] Status timed_out(int missing, const Refusals& refusals) const {
    const std::string strangers = refusals.describe();
    return {Code::kCollectiveTimeout,
            "rank " + std::to_string(context_.self.rank) + " waited for a connection with " +
                context_.name_of(missing) +
                (strangers.empty() ? "" : "; connections refused here: " + strangers),
            missing, context_.host_of(missing)};
  }

  Context context_;
  GuardedFd listener_;
};

}  // namespace

std::shared_ptr<Extender> make_extender(Context context, UniqueFd tcp_listener) {
  if (!tcp_listener.valid()) return nullptr;
  return std::make_shared<TcpExtender>(std::move(context), std::move(tcp_listener));
}

}  // namespace ring::transport
