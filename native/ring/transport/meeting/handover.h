// Handover of a shared segment on a proven Unix connection. Thread-safe: functions without state.
//
//   connector -> acceptor   ring size (8 bytes), with the segment, a bell and the connector's pidfd
//   acceptor -> connector   1 byte, 1 for "mapped" with the acceptor's pidfd, 0 for "cannot map it"
//
// A pidfd is left out where the kernel has none.
#pragma once

#include <cstddef>  // for size_t

#include "ring/base/status.h"
#include "ring/transport/meeting/gathering.h"

namespace ring::transport {

[[nodiscard]] Status send_offer(ShmConnection& connection, std::size_t ring_bytes);

// True: the peer mapped the segment. False: no answer yet. A failure says why the segment cannot be used.
[[nodiscard]] Result<bool> receive_answer(ShmConnection& connection);

// Maps what was offered on `connection.control` and answers. True: done. False: nothing has come yet.
[[nodiscard]] Result<bool> accept_offer(ShmConnection& connection);

}  // namespace ring::transport
