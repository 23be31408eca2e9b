#include "ring/transport/tcp/listen.h"

#include <netinet/in.h>  // for sockaddr_in6

#include <algorithm>  // for all_of
#include <cerrno>     // for errno
#include <utility>    // for move

#include "ring/base/random.h"
#include "ring/transport/tcp/socket.h"

namespace ring::transport::tcp {
namespace {

constexpr int kBacklog = 1024;
constexpr std::size_t kMaxDigits = 5;
constexpr int kMaxPort = 65535;

Status invalid(const std::string& what) {
  return {Code::kInvalidArgument, what};
}

// -1 for what is no port.
int port_in(std::string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.empty() || text.size() > kMaxDigits || !std::all_of(text.begin(), text.end(), is_digit)) return -1;
  const int port = std::stoi(std::string(text));
  return port >= 1 && port <= kMaxPort ? port : -1;
}

bool is_wildcard(const Endpoint& endpoint) {
  if (endpoint.family() == AF_INET) {
    return reinterpret_cast<const sockaddr_in*>(&endpoint.address)->sin_addr.s_addr == INADDR_ANY;
  }
  return IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6*>(&endpoint.address)->sin6_addr) != 0;
}

Result<Bound> describe(UniqueFd socket) {
  Endpoint bound;
  bound.length = sizeof bound.address;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound.address), &bound.length) != 0) {
    return Status::system("getsockname", errno);
  }
  return Bound{std::move(socket), bound.port(), bound.scope()};
}

// errno in `error` when the port cannot be had.
Result<UniqueFd> try_port(const Endpoint& endpoint, int& error) {
  auto socket = open_socket(endpoint.family());
  if (!socket) return socket;
  const int fd = socket.value().get();
  const int yes = 1;
  // Connections of an earlier listener that linger in TIME_WAIT do not hold its port; a living listener does.
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const bool listens = ::bind(fd, endpoint.raw(), endpoint.length) == 0 && ::listen(fd, kBacklog) == 0;
  error = listens ? 0 : errno;
  return socket;
}

Status cannot_listen(const std::string& ip, int error) {
  if (error == EADDRNOTAVAIL) {
    return invalid("cannot listen on " + ip + ": no interface of this host has this address");
  }
  return Status::system("cannot listen on " + ip, error);
}

}  // namespace

Result<PortRange> parse_port_range(std::string_view text) {
  if (text.empty()) return PortRange{};
  const std::size_t dash = text.find('-');
  const int first = port_in(text.substr(0, dash));
  const int last = dash == std::string_view::npos ? first : port_in(text.substr(dash + 1));
  if (first < 0 || last < first) {
    return invalid("port range '" + std::string(text) + "': give first-last, for example 40000-40100");
  }
  return PortRange{static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(last)};
}

Result<Bound> listen_on(const std::string& ip, PortRange ports) {
  // Starting anywhere, because ranks of one host that all start at the first port would queue up there.
  std::uint16_t start = 0;
  RING_TRY(fill_random(MutableBytes(&start, sizeof start)));
  for (int i = 0; i < ports.size(); ++i) {
    const int port = ports.first + (start + i) % ports.size();
    const auto endpoint = parse_endpoint(ip, static_cast<std::uint16_t>(port));
    if (!endpoint) return endpoint.status();
    if (is_wildcard(endpoint.value())) {
      return invalid("'" + ip + "' stands for all interfaces: give the address of one");
    }
    int error = 0;
    auto socket = try_port(endpoint.value(), error);
    if (!socket) return socket.status();
    if (error == 0) return describe(std::move(socket).value());
    const bool taken = error == EADDRINUSE || error == EACCES;  // taken, or below 1024 and not for us
    if (ports.is_any() || !taken) return cannot_listen(ip, error);
  }
  return invalid("no free port in " + std::to_string(ports.first) + "-" + std::to_string(ports.last) +
                 " on " + ip + ": widen comm.port_range or end what holds these ports");
}

}  // namespace ring::transport::tcp
