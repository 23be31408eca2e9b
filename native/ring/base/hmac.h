// HMAC-SHA256 as in RFC 2104, and the comparison that goes with it. Thread-safe: pure functions.
#pragma once

#include <initializer_list>  // for initializer_list

#include "ring/base/bytes.h"
#include "ring/base/sha256.h"

namespace ring {

// The code of the concatenated parts.
[[nodiscard]] Digest hmac_sha256(Bytes key, std::initializer_list<Bytes> parts);

// Takes the same time wherever the two differ.
[[nodiscard]] bool equal_in_constant_time(Bytes a, Bytes b);

}  // namespace ring
