#include "ring/transport/meeting/gathering.h"

#include <sys/socket.h>  // for recv

#include <algorithm>  // for find
#include <cerrno>     // for errno
#include <memory>     // for make_unique
#include <utility>    // for move

#include "ring/transport/choice.h"
#include "ring/transport/tcp/socket.h"
#include "ring/transport/uds/socket.h"

namespace ring::transport {
namespace {

std::size_t at(int rank) {
  return static_cast<std::size_t>(rank);
}

bool contains(const std::vector<int>& ranks, int rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

// Best effort: without it a death is noticed by the end of the connection.
void give_process(Lifeline& lifeline) {
  const UniqueFd process = uds::own_process();
  if (process.valid()) (void)lifeline.send_with(FrameKind::kProcess, process.get());
}

bool has_ended(const Stream& stream) {
  char byte = 0;
  const ssize_t got = ::recv(stream.fd(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

}  // namespace

Gathering::Gathering(const Context& context)
    : context_(context),
      local_(plan::local_neighbours(context.topology)),
      rail_(plan::rail_neighbours(context.topology)),
      pairings_(context.addresses.size()) {
  mesh_.rank = context.self.rank;
  mesh_.size = context.self.size;
  mesh_.hosts = context.hosts;
  mesh_.topology = context.topology;
  for (const Address& address : context.addresses) {
    mesh_.reasons.push_back(reason_between(context.own_address(), address));
  }
  for (int peer = 0; peer < mesh_.size; ++peer) halves_.emplace_back(context.streams_to(peer));
  mesh_.links.resize(at(mesh_.size));
  mesh_.lifelines.resize(at(mesh_.size));
}

bool Gathering::expects(int peer, Channel channel) const {
  switch (first_of(channel)) {
    case Channel::kUnixControl:
      return contains(local_, peer);
    case Channel::kTcpControl:
      return contains(rail_, peer);
    case Channel::kTcpData:
      return contains(rail_, peer) && halves_[at(peer)].expects(stream_of(channel));
    case Channel::kMoreData:
      break;
  }
  return false;
}

bool Gathering::is_taken(int peer, Channel channel, std::uint64_t pairing) const {
  if (pairings_[at(peer)] && *pairings_[at(peer)] != pairing) return true;
  if (first_of(channel) == Channel::kTcpData) {
    const HalfLink& half = halves_[at(peer)];
    return mesh_.links[at(peer)] || (half.expects(stream_of(channel)) && half.has(stream_of(channel)));
  }
  return mesh_.lifelines[at(peer)] != nullptr;
}

void Gathering::add(int peer, Proven connection) {
  pairings_[at(peer)] = connection.pairing;
  auto& lifeline = mesh_.lifelines[at(peer)];
  if (first_of(connection.channel) == Channel::kTcpData) {
    halves_[at(peer)].add(stream_of(connection.channel), std::move(connection.stream));
  } else {
    if (connection.channel == Channel::kTcpControl) tcp::bound_silence(connection.stream.fd());
    lifeline = std::make_unique<Lifeline>(std::move(connection.stream), peer, context_.host_of(peer));
    if (connection.channel == Channel::kUnixControl) give_process(*lifeline);
  }
  if (lifeline && halves_[at(peer)].is_whole()) mesh_.links[at(peer)] = halves_[at(peer)].take(peer);
}

std::vector<int> Gathering::missing() const {
  std::vector<int> ranks;
  for (int peer = 0; peer < mesh_.size; ++peer) {
    const bool lacks_words = !mesh_.lifelines[at(peer)] && (contains(local_, peer) || contains(rail_, peer));
    const bool lacks_data = !mesh_.links[at(peer)] && contains(rail_, peer);
    if (lacks_words || lacks_data) ranks.push_back(peer);
  }
  return ranks;
}

Lifeline* Gathering::lifeline(int peer) noexcept {
  return mesh_.lifelines[at(peer)].get();
}

Status Gathering::check() {
  for (auto& lifeline : mesh_.lifelines) {
    if (lifeline) RING_TRY(lifeline->check());
  }
  for (const int peer : rail_) {
    for (const Stream& early : halves_[at(peer)].streams()) {
      if (early.valid() && has_ended(early)) {
        return lost_rank(peer, context_.host_of(peer), "it ended while it was connecting");
      }
    }
  }
  return {};
}

void Gathering::watch(std::vector<pollfd>& fds) const {
  for (const auto& lifeline : mesh_.lifelines) {
    if (lifeline) lifeline->watch(fds);
  }
  for (const int peer : rail_) {
    for (const Stream& early : halves_[at(peer)].streams()) {
      if (early.valid()) fds.push_back({early.fd(), POLLRDHUP, 0});
    }
  }
}

void Gathering::abort(const Status& cause) {
  for (auto& lifeline : mesh_.lifelines) {
    if (!lifeline) continue;
    lifeline->send(encode_abort(mesh_.rank, cause));
    lifeline->close();
  }
}

}  // namespace ring::transport
