// Unix sockets in the abstract namespace (no file, gone with their last descriptor), and descriptors passed
// through them. Thread-safe: functions without state.
#pragma once

#include <string>   // for string
#include <utility>  // for pair
#include <vector>   // for vector

#include "ring/base/bytes.h"
#include "ring/base/status.h"
#include "ring/base/unique_fd.h"

namespace ring::transport::shm {

// Any process of this network namespace can connect to it: the handshake tells friend from stranger.
[[nodiscard]] Result<UniqueFd> listen_abstract(const std::string& name);
// Connects at once or fails; never blocks.
[[nodiscard]] Result<UniqueFd> connect_abstract(const std::string& name);

inline constexpr std::size_t kMaxPassed = 3;

// The message is small and the socket fresh, so it goes whole or the peer is gone.
[[nodiscard]] Status send_parcel(int socket, Bytes bytes, const std::vector<int>& descriptors);

struct Parcel {
  std::size_t bytes = 0;  // 0: nothing there yet
  std::vector<UniqueFd> descriptors;
};
// kPeerLost at the end of the stream.
[[nodiscard]] Result<Parcel> receive_parcel(int socket, MutableBytes bytes);

// A descriptor that becomes readable when this process ends; invalid where the kernel has none (before 5.3).
[[nodiscard]] UniqueFd own_process();

}  // namespace ring::transport::shm
