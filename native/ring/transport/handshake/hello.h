// Hello: what each end of a new connection says of itself. All of it is a claim until the proof over it
// holds. Its length never changes, so that ranks of different versions can still prove themselves and
// disagree in words.
#pragma once

#include <cstddef>  // for size_t
#include <cstdint>  // for uint32_t
#include <string>   // for string
#include <vector>   // for vector

#include "ring/base/bytes.h"
#include "ring/base/sha256.h"

namespace ring::transport {

enum class Role : std::uint8_t { kConnector = 1, kAcceptor = 2 };

// What the connection is for; the connector says.
enum class Channel : std::uint8_t {
  kTcpControl = 1,
  kTcpData = 2,
  kUnixControl = 3,
  kMoreData = 4,  // over TCP, between ranks that opened no link when they met
};

// A link may have several data connections. `first` is that of the first: kTcpData or kMoreData.
inline constexpr int kMaxStreams = 16;
[[nodiscard]] std::vector<Channel> data_channels(Channel first, int streams);
// The channel of the first, for those of control the same.
[[nodiscard]] Channel first_of(Channel channel) noexcept;
// Which one it is; -1 for those of control.
[[nodiscard]] int stream_of(Channel channel) noexcept;

struct Hello {
  std::uint32_t version = 0;
  Role role = Role::kConnector;
  Channel channel = Channel::kTcpControl;
  std::uint64_t generation = 0;
  std::uint32_t size = 0;
  std::uint32_t rank = 0;
  std::uint32_t target = 0;   // the rank that the connector believes to talk to
  std::uint64_t pairing = 0;  // the same on all channels that one connector means for one link
  Digest run{};               // HMAC of the run id
  Digest nonce{};             // drawn for this connection
  bool tls = false;           // whether it wants TLS to follow on its TCP connections
};

inline constexpr std::size_t kHelloBytes = 4 + 4 + 1 + 1 + 8 + 4 + 4 + 4 + 8 + 32 + 32;

[[nodiscard]] std::string encode_hello(const Hello& hello);
// `bytes` holds exactly kHelloBytes. False: not a hello at all.
[[nodiscard]] bool decode_hello(Bytes bytes, Hello& hello);

}  // namespace ring::transport
