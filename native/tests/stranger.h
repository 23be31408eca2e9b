// Strangers: bare sockets that connect to a listener and do not behave as a rank does. And what a process
// holds.
#pragma once

#include <doctest/doctest.h>
#include <sys/socket.h>  // for connect, send, recv

#include <filesystem>  // for directory_iterator
#include <string>      // for string

#include "ring/base/unique_fd.h"
#include "ring/transport/address.h"
#include "ring/transport/tcp/socket.h"

namespace ring::testing {

// A blocking connection to the TCP port of the rank that published `blob`.
inline UniqueFd knock(const std::string& blob) {
  const auto address = transport::parse_address(Bytes(blob.data(), blob.size()));
  REQUIRE(address);
  const auto endpoint = transport::tcp::parse_endpoint(address.value().ip, address.value().port);
  REQUIRE(endpoint);
  UniqueFd socket(::socket(endpoint.value().family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(::connect(socket.get(), endpoint.value().raw(), endpoint.value().length) == 0);
  return socket;
}

inline void say(const UniqueFd& socket, const std::string& text) {
  REQUIRE(::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()));
}

// Reads until the other side closes; how many bytes came.
inline std::size_t hear_out(const UniqueFd& socket) {
  std::size_t total = 0;
  char piece[512];
  ssize_t got = 0;
  while ((got = ::recv(socket.get(), piece, sizeof piece, 0)) > 0) total += static_cast<std::size_t>(got);
  return total;
}

inline std::ptrdiff_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

}  // namespace ring::testing
