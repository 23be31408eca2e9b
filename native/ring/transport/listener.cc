#include "ring/transport/listener.h"

#include <cstring>  // for memcpy
#include <utility>  // for move

#include "ring/base/hmac.h"
#include "ring/base/random.h"
#include "ring/transport/choice.h"
#include "ring/transport/meeting/extender.h"
#include "ring/transport/meeting/meeting.h"
#include "ring/transport/tcp/listen.h"
#include "ring/transport/tls/openssl.h"
#include "ring/transport/uds/socket.h"

namespace ring::transport {
namespace {

constexpr char kRunDomain[] = "sparkdl-ring run id";

Status invalid(const std::string& what) {
  return {Code::kInvalidArgument, what};
}

Bytes view(const std::string& text) {
  return {text.data(), text.size()};
}

std::string host_in(const Address& address) {
  return address.ip.empty() ? address.machine.substr(0, address.machine.find('/')) : address.ip;
}

Result<std::vector<Address>> parse_all(const std::vector<std::string>& blobs) {
  std::vector<Address> addresses;
  for (std::size_t rank = 0; rank < blobs.size(); ++rank) {
    auto address = parse_address(view(blobs[rank]));
    if (!address)
      return invalid("address of rank " + std::to_string(rank) + ": " + address.status().message());
    addresses.push_back(std::move(address).value());
  }
  return addresses;
}

Context make_context(const ConnectOptions& options, std::vector<Address> addresses) {
  Context context;
  context.self.rank = options.rank;
  context.self.size = static_cast<int>(addresses.size());
  context.self.generation = options.generation;
  context.self.tls = addresses[static_cast<std::size_t>(options.rank)].tls;
  std::memcpy(context.self.secret.data(), options.secret.data(), context.self.secret.size());
  // Under the secret, because an acceptor says it to whoever connects.
  context.self.run =
      hmac_sha256(view(options.secret), {Bytes(kRunDomain, sizeof kRunDomain), view(options.run_id)});
  context.hosts = options.hosts;
  if (context.hosts.empty()) {
    for (const Address& address : addresses) context.hosts.push_back(host_in(address));
  }
  context.addresses = std::move(addresses);
  context.segment = options.segment;
  context.stranger_timeout_s = options.stranger_timeout_s;
  context.cancelled = options.cancelled;
  return context;
}

}  // namespace

Result<Listener> Listener::open(const ListenOptions& options) {
  const auto policy = parse_policy(options.transport);
  if (!policy) return policy.status();
  if (options.host_id.size() > kMaxMachine) return invalid("host_id is longer than it may be");
  Listener listener(
      Address{policy.value(), "", 0, "", options.host_id.empty() ? this_machine() : options.host_id});
  RING_TRY(listener.take_tcp_options(options.tcp));
  if (policy.value() != Policy::kShm) RING_TRY(listener.open_tcp(options));
  if (policy.value() != Policy::kTcp) {
    const Status opened = listener.open_unix(options);
    if (!opened && policy.value() == Policy::kShm) return opened;
  }
  return listener;
}

Result<Mesh> Listener::connect(const ConnectOptions& options) {
  RING_TRY(check(options));
  auto addresses = parse_all(options.addresses);
  if (!addresses) return addresses.status();
  Context context = make_context(options, std::move(addresses).value());
  context.scope = scope_;
  context.socket_buffer_bytes = socket_buffer_bytes_;
  if (context.segment.folder.empty()) context.segment.folder = folder_;
  const auto domains = domains_of(context.addresses);
  if (!domains) {
    const Status why = domains.status();
    return Status(why.code(), context.name_of(why.rank()) + ": " + why.message(), why.rank(),
                  context.host_of(why.rank()));
  }
  context.topology = plan::make_topology(domains.value(), options.rank);
  auto mesh = meet(context, Doors{tcp_.get(), unix_.get()}, options.deadline, refusals_);
  if (mesh && context.topology.num_hosts() > 1) {
    mesh.value().extender = make_extender(std::move(context), std::move(tcp_));
  }
  close();
  return mesh;
}

void Listener::close() noexcept {
  tcp_.reset();
  unix_.reset();
}

Status Listener::take_tcp_options(const tcp::TcpOptions& options) {
  if (options.streams < 1 || options.streams > kMaxStreams) {
    return invalid("streams must be 1 to " + std::to_string(kMaxStreams));
  }
  if (options.socket_buffer_bytes < 0) return invalid("socket_buffer_bytes must be 0 or more");
  if (options.tls) RING_TRY(tls::openssl().status());
  address_.tls = options.tls;
  address_.streams = options.streams;
  socket_buffer_bytes_ = options.socket_buffer_bytes;
  return {};
}

Status Listener::open_tcp(const ListenOptions& options) {
  const auto ports = tcp::parse_port_range(options.tcp.port_range);
  if (!ports) return ports.status();
  auto bound = tcp::listen_on(options.host, ports.value());
  if (!bound) return bound.status();
  address_.ip = options.host.substr(0, options.host.find('%'));
  scope_ = bound.value().scope;
  address_.port = bound.value().port;
  tcp_ = std::move(bound.value().socket);
  return {};
}

Status Listener::open_unix(const ListenOptions& options) {
  // Whether this rank can share memory is said in its address, so that all ranks choose alike.
  shm::SegmentOptions probe;
  probe.folder = folder_ = options.folder;
  const auto memory = shm::Segment::create(probe);
  if (!memory) return memory.status();
  const auto name = random_name(16);
  if (!name) return name.status();
  auto socket = uds::listen_abstract("sparkdl-ring-" + name.value());
  if (!socket) return socket.status();
  address_.unix_name = "sparkdl-ring-" + name.value();
  unix_ = std::move(socket).value();
  return {};
}

Status Listener::check(const ConnectOptions& options) const {
  const std::size_t size = options.addresses.size();
  if (!tcp_.valid() && !unix_.valid()) return invalid("the listener is closed: open a new one");
  if (options.rank < 0 || static_cast<std::size_t>(options.rank) >= size) {
    return invalid("rank " + std::to_string(options.rank) + " of " + std::to_string(size) + " addresses");
  }
  if (options.addresses[static_cast<std::size_t>(options.rank)] != address()) {
    return invalid("the address at place " + std::to_string(options.rank) + " is not this listener's own");
  }
  if (options.secret.size() != sizeof(Digest)) return invalid("the secret must have 32 bytes");
  if (!options.hosts.empty() && options.hosts.size() != size)
    return invalid("hosts and addresses differ in number");
  return {};
}

}  // namespace ring::transport
