// What NCCL's codes mean to us. Pure.
#pragma once

#include <string>  // for string

#include "ring/base/status.h"
#include "ring/nccl/abi.h"
#include "ring/nccl/library.h"

namespace ring::nccl {

// Where a call was made, for messages.
struct Site {
  int rank = -1;
  std::string host;
  std::string device;  // "cuda:0 (NVIDIA H100, 0000:3b:00.0)"
};

// `what` failed with `outcome`: its text, NCCL's last error, rank, device, host, and what to do. The code:
// kPeerLost for a remote error (an echo: somebody else knows why), kCollectiveTimeout for a time-out,
// kInvalidArgument for wrong use, kSystem and kInternal for the rest. Ok for success.
[[nodiscard]] Status failure_of(const Library& library, Comm comm, Outcome outcome, const std::string& what,
                                const Site& site);

// True for outcomes that only repeat what another rank has met first.
[[nodiscard]] bool is_echo(Outcome outcome) noexcept;

}  // namespace ring::nccl
