// TCP sockets as this library wants them: non-blocking, closed on exec, no delay, keepalive.
// Thread-safe: functions without state.
#pragma once

#include <sys/socket.h>  // for sockaddr_storage

#include <cstdint>  // for uint16_t
#include <string>   // for string

#include "ring/base/status.h"
#include "ring/base/unique_fd.h"

namespace ring::transport::tcp {

struct Endpoint {
  sockaddr_storage address{};
  socklen_t length = 0;
  [[nodiscard]] int family() const noexcept { return address.ss_family; }
  [[nodiscard]] const sockaddr* raw() const noexcept { return reinterpret_cast<const sockaddr*>(&address); }
};

// `ip` must be numeric (IPv4, or IPv6 with or without a scope): names are never looked up.
[[nodiscard]] Result<Endpoint> parse_endpoint(const std::string& ip, std::uint16_t port);

struct Bound {
  UniqueFd socket;
  std::uint16_t port = 0;
};

// Listens on a port that the system chooses. kInvalidArgument for the address of all interfaces, which nobody
// could connect to.
[[nodiscard]] Result<Bound> listen_on(const std::string& ip);

// Starts connecting; sending on the socket says EAGAIN until it is done. `buffer_bytes` 0 leaves the
// system's.
[[nodiscard]] Result<UniqueFd> start_connecting(const Endpoint& to, int buffer_bytes);

// For a socket that was accepted.
[[nodiscard]] Status tune(int socket, int buffer_bytes);

// For control sockets: a peer whose machine is gone is noticed after about half a minute. Not for data
// sockets, where a peer that is merely slow to read would look the same.
void bound_silence(int socket);

}  // namespace ring::transport::tcp
