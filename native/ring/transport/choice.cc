#include "ring/transport/choice.h"

#include <algorithm>  // for find_if

namespace ring::transport {
namespace {

std::string machines(const Address& a, const Address& b) {
  return "'" + a.machine + "' and '" + b.machine + "'";
}

bool can_share(const Address& address) {
  return address.policy != Policy::kTcp && !address.unix_name.empty();
}

Status check_shared(const Address& wishes, const std::vector<Address>& addresses) {
  for (std::size_t rank = 0; rank < addresses.size(); ++rank) {
    const Address& other = addresses[rank];
    const int number = static_cast<int>(rank);
    if (other.policy == Policy::kTcp) {
      return {Code::kRendezvous, "one rank was given transport=shm, the other transport=tcp", number};
    }
    if (other.machine != wishes.machine || other.unix_name.empty()) {
      return {Code::kRendezvous,
              "transport=shm, but two ranks are on different machines (" + machines(wishes, other) +
                  "): use transport=auto or tcp",
              number};
    }
  }
  return {};
}

Status check_tls(const std::vector<Address>& addresses) {
  for (std::size_t rank = 1; rank < addresses.size(); ++rank) {
    const bool first = addresses.front().tls;
    if (addresses[rank].tls == first) continue;
    return {Code::kRendezvous,
            std::string("comm.tls is ") + (first ? "off here and on" : "on here and off") +
                " on rank 0: set it to the same on all ranks",
            static_cast<int>(rank)};
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> domains_of(const std::vector<Address>& addresses) {
  RING_TRY(check_tls(addresses));
  const auto wish = std::find_if(addresses.begin(), addresses.end(),
                                 [](const Address& address) { return address.policy == Policy::kShm; });
  if (wish != addresses.end()) RING_TRY(check_shared(*wish, addresses));
  std::vector<std::string> domains;
  for (const Address& address : addresses) {
    domains.push_back(can_share(address) ? "machine " + address.machine
                                         : "rank " + std::to_string(domains.size()));
  }
  return domains;
}

std::string reason_between(const Address& mine, const Address& theirs) {
  if (mine.policy == Policy::kShm || theirs.policy == Policy::kShm) return "transport=shm was asked for";
  if (mine.policy == Policy::kTcp || theirs.policy == Policy::kTcp) return "transport=tcp was asked for";
  if (mine.machine != theirs.machine) return "different machines (" + machines(mine, theirs) + ")";
  if (mine.unix_name.empty()) return "same machine, but this rank cannot share memory";
  if (theirs.unix_name.empty()) return "same machine, but the other rank cannot share memory";
  return "same machine";
}

}  // namespace ring::transport
