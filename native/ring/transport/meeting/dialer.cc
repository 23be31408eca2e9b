#include "ring/transport/meeting/dialer.h"

#include <utility>  // for move

#include "ring/transport/meeting/handover.h"

namespace ring::transport {

Dialer::Dialer(const Context& context, int peer, Choice choice, std::uint64_t pairing)
    : context_(context), peer_(peer), choice_(std::move(choice)), pairing_(pairing) {
  begin();
}

void Dialer::begin() {
  dials_.clear();
  if (choice_.path == Path::kShm) {
    dials_.emplace_back(context_, Purpose{peer_, Channel::kShmControl, pairing_});
  } else {
    dials_.emplace_back(context_, Purpose{peer_, Channel::kTcpControl, pairing_});
    dials_.emplace_back(context_, Purpose{peer_, Channel::kTcpData, pairing_});
  }
}

Status Dialer::advance(Gathering& gathering) {
  if (offer_) RING_TRY(take_answer(gathering));
  for (auto dial = dials_.begin(); dial != dials_.end();) {
    const auto progress = dial->advance();
    if (!progress) return progress.status();
    if (progress.value() == Dial::Progress::kUnreachable) return take_unreachable(dial->trouble());
    if (progress.value() == Dial::Progress::kPending) {
      ++dial;
      continue;
    }
    UniqueFd socket = dial->take_socket();
    const Channel channel = dial->channel();
    dial = dials_.erase(dial);
    if (channel == Channel::kShmControl) return offer_segment(std::move(socket));
    gathering.add_tcp(peer_, {channel, pairing_, std::move(socket)}, choice_.reason);
  }
  return {};
}

void Dialer::watch(std::vector<pollfd>& fds) const {
  for (const Dial& dial : dials_) dial.watch(fds);
  if (offer_) fds.push_back({offer_->control.get(), POLLIN, 0});
}

std::string Dialer::trouble() const {
  for (const Dial& dial : dials_) {
    if (!dial.trouble().empty()) return dial.trouble();
  }
  return {};
}

Status Dialer::take_unreachable(const std::string& why) {
  if (choice_.path == Path::kShm && choice_.may_fall_back) {
    choice_ = {Path::kTcp, false, "same machine, but shared memory is out: " + why};
    begin();
    return {};
  }
  return {Code::kRendezvous,
          context_.name_of(peer_) + " refuses the connection (" + why +
              "): it has ended, or it has another secret, run or list of addresses",
          peer_, context_.host_of(peer_)};
}

Status Dialer::offer_segment(UniqueFd control) {
  auto segment = shm::create_segment(context_.ring_bytes);
  if (!segment) return take_unreachable(segment.status().message());
  offer_ =
      ShmConnection{std::move(control), UniqueFd(), UniqueFd(), std::move(segment).value(), Role::kConnector};
  if (const Status sent = send_offer(*offer_, context_.ring_bytes); !sent) {
    offer_.reset();
    return take_unreachable(sent.message());
  }
  return {};
}

Status Dialer::take_answer(Gathering& gathering) {
  const auto answer = receive_answer(*offer_);
  if (answer && !answer.value()) return {};  // not there yet
  ShmConnection connection = *std::exchange(offer_, std::nullopt);
  if (!answer) return take_unreachable(answer.status().message());
  connection.segment.fd.reset();
  gathering.add_shm(peer_, std::move(connection), choice_.reason);
  return {};
}

}  // namespace ring::transport
