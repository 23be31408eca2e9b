// Which ranks share memory, and why any two ranks use the transport they use: from what all published. Pure,
// so that all ranks come to the same answer without talking. Thread-safe.
#pragma once

#include <string>  // for string
#include <vector>  // for vector

#include "ring/base/status.h"
#include "ring/transport/address.h"

namespace ring::transport {

// By rank; ranks of equal text share memory. kRendezvous, naming a rank, when the wishes of two exclude each
// other, when shm is wished for across machines, or when one has TLS and another does not.
[[nodiscard]] Result<std::vector<std::string>> domains_of(const std::vector<Address>& addresses);

// Why they share memory, or why they do not; for people.
[[nodiscard]] std::string reason_between(const Address& mine, const Address& theirs);

}  // namespace ring::transport
