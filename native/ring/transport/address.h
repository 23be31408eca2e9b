// Address: what one rank publishes so that the others can reach it. Plain value, no thread safety of its own.
// Wire: magic, version, policy, port, then three bounded texts; at most kMaxAddressBytes in all.
#pragma once

#include <cstddef>      // for size_t
#include <cstdint>      // for uint8_t
#include <string>       // for string
#include <string_view>  // for string_view
#include <utility>      // for move

#include "ring/base/bytes.h"
#include "ring/base/status.h"

namespace ring::transport {

// What the user asked for.
enum class Policy : std::uint8_t { kAuto = 0, kShm = 1, kTcp = 2 };

inline constexpr std::size_t kMaxAddressBytes = 1024;
inline constexpr std::size_t kMaxIpText = 64;
inline constexpr std::size_t kMaxUnixName = 100;  // sun_path holds 108
inline constexpr std::size_t kMaxMachine = 512;

struct Address {
  Address() = default;
  Address(Policy wish, std::string ip_text, std::uint16_t tcp_port, std::string unix_socket,
          std::string machine_id)
      : policy(wish),
        ip(std::move(ip_text)),
        port(tcp_port),
        unix_name(std::move(unix_socket)),
        machine(std::move(machine_id)) {}

  Policy policy = Policy::kAuto;
  std::string ip;          // numeric, IPv4 or IPv6 without scope; empty without a TCP listener
  std::uint16_t port = 0;  // 0 without a TCP listener
  std::string unix_name;   // in the abstract namespace; empty without a Unix listener
  std::string machine;     // equal for ranks that can share memory
  bool tls = false;        // on all TCP connections; must be the same everywhere
  int streams = 1;         // data connections of each TCP link; the smaller number of the two ends counts
};

[[nodiscard]] Result<Policy> parse_policy(std::string_view name);  // "auto", "shm", "tcp"

[[nodiscard]] std::string encode_address(const Address& address);
// kInvalidArgument for anything that encode_address could not have written.
[[nodiscard]] Result<Address> parse_address(Bytes blob);

// The identity of this machine for shared memory: boot id and network namespace (abstract Unix sockets end at
// its border). Never empty; a name drawn at random where the system tells neither, so that nobody matches it.
[[nodiscard]] std::string this_machine();

}  // namespace ring::transport
