// choose_path: which transport two ranks use, from what both published. Pure and symmetric: both ends come to
// the same answer without talking. Thread-safe.
#pragma once

#include <string>  // for string

#include "ring/base/status.h"
#include "ring/transport/address.h"

namespace ring::transport {

enum class Path { kShm, kTcp };

struct Choice {
  Path path = Path::kTcp;
  bool may_fall_back = false;  // shm may turn into tcp when it cannot be set up
  std::string reason;          // why, for people
};

// kRendezvous when the two wishes exclude each other, or when shm is wished for across machines.
[[nodiscard]] Result<Choice> choose_path(const Address& mine, const Address& theirs);

}  // namespace ring::transport
