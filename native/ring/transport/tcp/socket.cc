#include "ring/transport/tcp/socket.h"

#include <netdb.h>        // for getaddrinfo
#include <netinet/in.h>   // for sockaddr_in
#include <netinet/tcp.h>  // for TCP_NODELAY

#include <cerrno>   // for errno
#include <cstring>  // for memcpy
#include <utility>  // for move

namespace ring::transport::tcp {
namespace {

constexpr int kKeepaliveIdle_s = 10;
constexpr int kKeepaliveEvery_s = 5;
constexpr int kKeepaliveProbes = 4;
constexpr unsigned kUserTimeout_ms = 30'000;

int set_option(int socket, int level, int name, int value) {
  return ::setsockopt(socket, level, name, &value, sizeof value);
}

}  // namespace

std::uint16_t Endpoint::port() const noexcept {
  const auto number = family() == AF_INET ? reinterpret_cast<const sockaddr_in*>(&address)->sin_port
                                          : reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port;
  return ntohs(number);
}

unsigned Endpoint::scope() const noexcept {
  return family() == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&address)->sin6_scope_id : 0;
}

void Endpoint::add_scope(unsigned scope) noexcept {
  if (family() != AF_INET6) return;
  auto& six = *reinterpret_cast<sockaddr_in6*>(&address);
  if (IN6_IS_ADDR_LINKLOCAL(&six.sin6_addr) != 0) six.sin6_scope_id = scope;
}

Result<UniqueFd> open_socket(int family) {
  UniqueFd socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return Status::system("socket", errno);
  return socket;
}

Result<Endpoint> parse_endpoint(const std::string& ip, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(ip.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (ip.empty() || error != 0 || found == nullptr) {
    if (found != nullptr) ::freeaddrinfo(found);
    return Status(Code::kInvalidArgument, "'" + ip + "' is no numeric IPv4 or IPv6 address");
  }
  Endpoint endpoint;
  std::memcpy(&endpoint.address, found->ai_addr, found->ai_addrlen);
  endpoint.length = found->ai_addrlen;
  ::freeaddrinfo(found);
  return endpoint;
}

Result<UniqueFd> start_connecting(const Endpoint& to, int buffer_bytes) {
  auto socket = open_socket(to.family());
  if (!socket) return socket.status();
  RING_TRY(tune(socket.value().get(), buffer_bytes));
  const int result = ::connect(socket.value().get(), to.raw(), to.length);
  if (result != 0 && errno != EINPROGRESS && errno != EINTR) return Status::system("connect", errno);
  return socket;
}

Status tune(int socket, int buffer_bytes) {
  if (set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1) != 0) return Status::system("TCP_NODELAY", errno);
  // The rest makes things better, its lack breaks nothing.
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, kKeepaliveIdle_s);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, kKeepaliveEvery_s);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, kKeepaliveProbes);
  if (buffer_bytes > 0) {
    set_option(socket, SOL_SOCKET, SO_SNDBUF, buffer_bytes);
    set_option(socket, SOL_SOCKET, SO_RCVBUF, buffer_bytes);
  }
  return {};
}

void bound_silence(int socket) {
  ::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUserTimeout_ms, sizeof kUserTimeout_ms);
}

}  // namespace ring::transport::tcp
