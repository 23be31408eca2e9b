#include "ring/transport/meeting/gathering.h"

#include <sys/socket.h>  // for recv

#include <algorithm>  // for find
#include <cerrno>     // for errno
#include <memory>     // for make_unique
#include <utility>    // for move

#include "ring/transport/choice.h"
#include "ring/transport/tcp/link.h"
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

bool has_ended(const UniqueFd& socket) {
  char byte = 0;
  const ssize_t got = ::recv(socket.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

}  // namespace

Gathering::Gathering(const Context& context)
    : context_(context),
      local_(plan::local_neighbours(context.topology)),
      rail_(plan::rail_neighbours(context.topology)),
      pairings_(context.addresses.size()),
      early_(context.addresses.size()) {
  mesh_.rank = context.self.rank;
  mesh_.size = context.self.size;
  mesh_.hosts = context.hosts;
  mesh_.topology = context.topology;
  const Address& own = context.addresses[at(mesh_.rank)];
  for (const Address& address : context.addresses) mesh_.reasons.push_back(reason_between(own, address));
  mesh_.links.resize(at(mesh_.size));
  mesh_.lifelines.resize(at(mesh_.size));
}

bool Gathering::expects(int peer, Channel channel) const {
  switch (channel) {
    case Channel::kUnixControl:
      return contains(local_, peer);
    case Channel::kTcpControl:
    case Channel::kTcpData:
      return contains(rail_, peer);
    case Channel::kMoreData:
      break;
  }
  return false;
}

bool Gathering::is_taken(int peer, Channel channel, std::uint64_t pairing) const {
  if (pairings_[at(peer)] && *pairings_[at(peer)] != pairing) return true;
  if (channel == Channel::kTcpData) return mesh_.links[at(peer)] || early_[at(peer)].valid();
  return mesh_.lifelines[at(peer)] != nullptr;
}

void Gathering::add(int peer, Proven connection) {
  pairings_[at(peer)] = connection.pairing;
  auto& lifeline = mesh_.lifelines[at(peer)];
  if (connection.channel == Channel::kTcpData) {
    early_[at(peer)] = std::move(connection.socket);
  } else {
    if (connection.channel == Channel::kTcpControl) tcp::bound_silence(connection.socket.get());
    lifeline = std::make_unique<Lifeline>(std::move(connection.socket), peer, context_.host_of(peer));
    if (connection.channel == Channel::kUnixControl) give_process(*lifeline);
  }
  if (lifeline && early_[at(peer)].valid()) {
    mesh_.links[at(peer)] = std::make_unique<tcp::TcpLink>(peer, std::move(early_[at(peer)]));
  }
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
    const UniqueFd& early = early_[at(peer)];
    if (early.valid() && has_ended(early)) {
      return lost_rank(peer, context_.host_of(peer), "it ended while it was connecting");
    }
  }
  return {};
}

void Gathering::watch(std::vector<pollfd>& fds) const {
  for (const auto& lifeline : mesh_.lifelines) {
    if (lifeline) lifeline->watch(fds);
  }
  for (const int peer : rail_) {
    if (early_[at(peer)].valid()) fds.push_back({early_[at(peer)].get(), POLLRDHUP, 0});
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
