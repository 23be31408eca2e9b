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
  [[nodiscard]] std::uint16_t port() const noexcept;
  // The index of the interface in a link-local IPv6 address, else 0. It means something on this host alone,
  // so it is never published: who connects puts its own in.
  [[nodiscard]] unsigned scope() const noexcept;
  void add_scope(unsigned scope) noexcept;  // changes nothing in other addresses
};

// `ip` must be numeric (IPv4, or IPv6 with or without a scope): names are never looked up.
[[nodiscard]] Result<Endpoint> parse_endpoint(const std::string& ip, std::uint16_t port);

[[nodiscard]] Result<UniqueFd> open_socket(int family);

// Starts connecting; sending on the socket says EAGAIN until it is done. `buffer_bytes` 0 leaves the
// system's.
[[nodiscard]] Result<UniqueFd> start_connecting(const Endpoint& to, int buffer_bytes);

// For a socket that was accepted.
[[nodiscard]] Status tune(int socket, int buffer_bytes);

// For control sockets: a peer whose machine is gone is noticed after about half a minute. Not for data
// sockets, where a peer that is merely slow to read would look the same.
void bound_silence(int socket);

}  // namespace ring::transport::tcp
