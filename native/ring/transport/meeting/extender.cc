#include "ring/transport/meeting/extender.h"

#include <poll.h>  // for poll

#include <cerrno>    // for errno
#include <cstdint>   // for uint64_t
#include <map>       // for map
#include <optional>  // for optional
#include <string>    // for string, to_string
#include <utility>   // for move
#include <vector>    // for vector

#include "ring/base/fork_guard.h"
#include "ring/transport/lifeline.h"
#include "ring/transport/meeting/dialer.h"
#include "ring/transport/meeting/doorman.h"
#include "ring/transport/meeting/half_link.h"

namespace ring::transport {
namespace {

constexpr int kTick_ms = 50;  // pauses and time limits of single connections are looked at this often

using Links = std::vector<std::unique_ptr<Link>>;

// The ranks that are awaited, and the links to those that have come.
class Newcomers final : public Guests {
 public:
  Newcomers(Links& links, const std::vector<int>& peers, const Context& context) : links_(links) {
    for (const int peer : peers) {
      if (links[static_cast<std::size_t>(peer)]) continue;
      awaited_.push_back(peer);
      halves_.emplace(peer, Half{HalfLink(context.streams_to(peer)), std::nullopt});
    }
  }

  [[nodiscard]] bool expects(int peer, Channel channel) const override {
    const auto half = halves_.find(peer);
    const bool is_more = first_of(channel) == Channel::kMoreData;
    return is_more && half != halves_.end() && half->second.link.expects(stream_of(channel));
  }
  [[nodiscard]] bool is_taken(int peer, Channel channel, std::uint64_t pairing) const override {
    if (links_[static_cast<std::size_t>(peer)] != nullptr) return true;
    if (!expects(peer, channel)) return false;
    const Half& half = halves_.at(peer);
    return (half.pairing && *half.pairing != pairing) || half.link.has(stream_of(channel));
  }
  void add(int peer, Proven connection) override {
    Half& half = halves_.at(peer);
    half.pairing = connection.pairing;
    half.link.add(stream_of(connection.channel), std::move(connection.stream));
    if (half.link.is_whole()) links_[static_cast<std::size_t>(peer)] = half.link.take(peer);
  }

  [[nodiscard]] const std::vector<int>& awaited() const noexcept { return awaited_; }
  [[nodiscard]] int first_missing() const {
    for (const int peer : awaited_) {
      if (!links_[static_cast<std::size_t>(peer)]) return peer;
    }
    return -1;
  }

 private:
  struct Half {
    HalfLink link;
    std::optional<std::uint64_t> pairing;  // of its first connection
  };

  Links& links_;
  std::vector<int> awaited_;
  std::map<int, Half> halves_;  // by rank
};

class TcpExtender final : public Extender {
 public:
  TcpExtender(Context context, UniqueFd listener)
      : context_(std::move(context)), listener_(std::move(listener)) {
    context_.cancelled = nullptr;
  }

  Status extend(Links& links, const std::vector<int>& peers, Deadline deadline,
                backend::Interrupt& interrupt) override {
    Newcomers newcomers(links, peers, context_);
    Doorman doorman(context_, listener_.get(), -1);
    std::vector<Dialer> dialers;
    for (const int peer : newcomers.awaited()) {
      if (peer > context_.self.rank) continue;
      auto dialer = Dialer::to(context_, peer, data_channels(Channel::kMoreData, context_.streams_to(peer)));
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
