#include "ring/transport/meeting/dialer.h"

#include <utility>  // for move

#include "ring/base/random.h"

namespace ring::transport {

Result<Dialer> Dialer::to(const Context& context, int peer, const std::vector<Channel>& channels) {
  Dialer dialer(context, peer);
  RING_TRY(fill_random(MutableBytes(&dialer.pairing_, sizeof dialer.pairing_)));
  for (const Channel channel : channels) {
    dialer.dials_.emplace_back(context, Purpose{peer, channel, dialer.pairing_});
  }
  return dialer;
}

Status Dialer::advance(Guests& guests) {
  for (auto dial = dials_.begin(); dial != dials_.end();) {
    const auto progress = dial->advance();
    if (!progress) return progress.status();
    if (progress.value() == Dial::Progress::kUnreachable) return unreachable(dial->trouble());
    if (progress.value() == Dial::Progress::kPending) {
      ++dial;
      continue;
    }
    guests.add(peer_, {dial->channel(), pairing_, dial->take_stream()});
    dial = dials_.erase(dial);
  }
  return {};
}

void Dialer::watch(std::vector<pollfd>& fds) const {
  for (const Dial& dial : dials_) dial.watch(fds);
}

std::string Dialer::trouble() const {
  for (const Dial& dial : dials_) {
    if (!dial.trouble().empty()) return dial.trouble();
  }
  return {};
}

Status Dialer::unreachable(const std::string& why) const {
  return {Code::kRendezvous,
          context_->name_of(peer_) + " refuses the connection (" + why +
              "): it has ended, or it has another secret, run or list of addresses",
          peer_, context_->host_of(peer_)};
}

}  // namespace ring::transport
