// Context: what all parts of one meeting know. Immutable while the meeting lasts; owned by it.
#pragma once

#include <algorithm>   // for min
#include <functional>  // for function
#include <string>      // for string
#include <vector>      // for vector

#include "ring/plan/topology.h"
#include "ring/shm/segment.h"
#include "ring/transport/address.h"
#include "ring/transport/handshake/conversation.h"

namespace ring::transport {

struct Context {
  Identity self;
  std::vector<Address> addresses;   // by rank
  std::vector<std::string> hosts;   // by rank
  plan::Topology topology;          // from the addresses
  shm::SegmentOptions segment;      // of the memory that ranks of one host share
  int socket_buffer_bytes = 0;      // 0: the system's
  double stranger_timeout_s = 0;    // how long a visitor may take to prove itself
  unsigned scope = 0;               // interface of our own link-local address, for the peers' ones
  std::function<bool()> cancelled;  // see ConnectOptions

  [[nodiscard]] const Address& own_address() const { return addresses[static_cast<std::size_t>(self.rank)]; }
  // Data connections of a TCP link to this rank, the same seen from both ends.
  [[nodiscard]] int streams_to(int rank) const {
    return std::min(own_address().streams, addresses[static_cast<std::size_t>(rank)].streams);
  }

  // Takes any number, also what an unproven hello claims.
  [[nodiscard]] std::string host_of(int rank) const {
    const bool known = rank >= 0 && static_cast<std::size_t>(rank) < hosts.size();
    return known ? hosts[static_cast<std::size_t>(rank)] : std::string();
  }
  [[nodiscard]] std::string name_of(int rank) const {
    return "rank " + std::to_string(rank) + (host_of(rank).empty() ? "" : " on host " + host_of(rank));
  }
};

}  // namespace ring::transport
