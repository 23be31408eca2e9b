#include "ring/transport/meeting/gathering.h"

#include <memory>   // for make_unique
#include <utility>  // for move

#include "ring/transport/memory_link.h"
#include "ring/transport/tcp/link.h"
#include "ring/transport/tcp/socket.h"

namespace ring::transport {
namespace {

std::size_t at(int rank) {
  return static_cast<std::size_t>(rank);
}

}  // namespace

Gathering::Gathering(const Context& context) : context_(context), halves_(context.addresses.size()) {
  mesh_.rank = context.self.rank;
  mesh_.size = context.self.size;
  mesh_.hosts = context.hosts;
  mesh_.topology = plan::all_apart(mesh_.size, mesh_.rank);
  mesh_.reasons.resize(at(mesh_.size));
  mesh_.links.resize(at(mesh_.size));
  mesh_.lifelines.resize(at(mesh_.size));
}

bool Gathering::is_taken(int peer, Channel channel, std::uint64_t pairing) const {
  if (mesh_.lifelines[at(peer)]) return true;
  const TcpHalf& half = halves_[at(peer)];
  const bool begun = half.control.valid() || half.data.valid();
  if (begun && half.pairing != pairing) return true;
  if (channel == Channel::kTcpControl) return half.control.valid();
  return channel == Channel::kTcpData && half.data.valid();
}

void Gathering::add_tcp(int peer, TcpConnection connection, const std::string& reason) {
  TcpHalf& half = halves_[at(peer)];
  half.pairing = connection.pairing;
  (connection.channel == Channel::kTcpControl ? half.control : half.data) = std::move(connection.socket);
  if (!half.control.valid() || !half.data.valid()) return;
  tcp::bound_silence(half.control.get());
  set_peer(std::make_unique<Lifeline>(std::move(half.control), peer, context_.host_of(peer)),
           std::make_unique<tcp::TcpLink>(peer, std::move(half.data)), reason);
}

void Gathering::add_shm(int peer, ShmConnection connection, const std::string& reason) {
  auto lifeline = std::make_unique<Lifeline>(std::move(connection.control), peer, context_.host_of(peer),
                                             std::move(connection.process));
  const RingPair& rings = connection.segment.rings;
  const bool connector = connection.role == Role::kConnector;
  RingEnds ends{connection.segment.mapping, connector ? rings.upper : rings.lower,
                connector ? rings.lower : rings.upper, std::move(connection.bell)};
  set_peer(std::move(lifeline), std::make_unique<MemoryLink>("shm", peer, std::move(ends)), reason);
}

std::vector<int> Gathering::missing() const {
  std::vector<int> ranks;
  for (int rank = 0; rank < mesh_.size; ++rank) {
    if (rank != mesh_.rank && !mesh_.lifelines[at(rank)]) ranks.push_back(rank);
  }
  return ranks;
}

Status Gathering::check() {
  for (auto& lifeline : mesh_.lifelines) {
    if (lifeline) RING_TRY(lifeline->check());
  }
  return {};
}

void Gathering::watch(std::vector<pollfd>& fds) {
  for (auto& lifeline : mesh_.lifelines) {
    if (lifeline) lifeline->watch(fds);
  }
}

void Gathering::abort(const Status& cause) {
  for (auto& lifeline : mesh_.lifelines) {
    if (lifeline) lifeline->send(encode_abort(mesh_.rank, cause));
  }
}

void Gathering::set_peer(std::unique_ptr<Lifeline> lifeline, std::unique_ptr<Link> link,
                         const std::string& reason) {
  const std::size_t peer = at(lifeline->peer());
  mesh_.lifelines[peer] = std::move(lifeline);
  mesh_.links[peer] = std::move(link);
  mesh_.reasons[peer] = reason;
}

}  // namespace ring::transport
