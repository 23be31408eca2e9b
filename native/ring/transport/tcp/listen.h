// Listening sockets: on one address of this host, at a port that the system or a range decides. The socket
// stays open from the choice of its port on. Thread-safe: functions without state.
#pragma once

#include <cstdint>      // for uint16_t
#include <string>       // for string
#include <string_view>  // for string_view

#include "ring/base/status.h"
#include "ring/base/unique_fd.h"

namespace ring::transport::tcp {

// Ports to choose from, both ends included; 0 to 0 leaves the choice to the system.
struct PortRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
  [[nodiscard]] bool is_any() const noexcept { return last == 0; }
  [[nodiscard]] int size() const noexcept { return last - first + 1; }
};

// "40000-40100", "40000" or "" for any; kInvalidArgument for anything else.
[[nodiscard]] Result<PortRange> parse_port_range(std::string_view text);

struct Bound {
  UniqueFd socket;
  std::uint16_t port = 0;
  unsigned scope = 0;  // index of the interface of a link-local IPv6 address, else 0
};

// kInvalidArgument for the address of all interfaces, which nobody could connect to, for an address that no
// interface of this host has, and when every port of the range is taken.
[[nodiscard]] Result<Bound> listen_on(const std::string& ip, PortRange ports = {});

}  // namespace ring::transport::tcp
