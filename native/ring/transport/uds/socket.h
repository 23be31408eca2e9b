// Unix sockets in the abstract namespace (no file, gone with their last descriptor), and descriptors passed
// through them. Thread-safe: functions without state.
#pragma once

#include <sys/types.h>  // for ssize_t

#include <string>  // for string

#include "ring/base/bytes.h"
#include "ring/base/status.h"
#include "ring/base/unique_fd.h"

namespace ring::transport::uds {

// Any process of this network namespace can connect to it: the handshake tells friend from stranger.
[[nodiscard]] Result<UniqueFd> listen_abstract(const std::string& name);
// Connects at once or fails; never blocks.
[[nodiscard]] Result<UniqueFd> connect_abstract(const std::string& name);

// The message is small and the socket fresh, so it goes whole or the peer is gone.
[[nodiscard]] Status send_parcel(int socket, Bytes bytes, int descriptor);

// As recv(2) without blocking, for any stream socket; a descriptor that comes along replaces `descriptor`.
// Bytes of two descriptors never come in one call.
[[nodiscard]] ssize_t receive_with(int socket, MutableBytes bytes, UniqueFd& descriptor) noexcept;

// A descriptor that becomes readable when this process ends; invalid where the kernel has none (before 5.3).
[[nodiscard]] UniqueFd own_process();

}  // namespace ring::transport::uds
