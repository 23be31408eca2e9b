#include "ring/transport/choice.h"

namespace ring::transport {
namespace {

bool reaches_by_unix(const Address& a, const Address& b) {
  return a.machine == b.machine && !a.unix_name.empty() && !b.unix_name.empty();
}

std::string machines(const Address& a, const Address& b) {
  return "'" + a.machine + "' and '" + b.machine + "'";
}

Result<Choice> choose_shm(const Address& mine, const Address& theirs) {
  if (mine.policy == Policy::kTcp || theirs.policy == Policy::kTcp) {
    return Status(Code::kRendezvous, "one rank was given transport=shm, the other transport=tcp");
  }
  if (!reaches_by_unix(mine, theirs)) {
    return Status(Code::kRendezvous, "transport=shm, but the two ranks are on different machines (" +
                                         machines(mine, theirs) + "): use transport=auto or tcp");
  }
  return Choice{Path::kShm, false, "transport=shm was asked for"};
}

}  // namespace

Result<Choice> choose_path(const Address& mine, const Address& theirs) {
  if (mine.policy == Policy::kShm || theirs.policy == Policy::kShm) return choose_shm(mine, theirs);
  if (mine.policy == Policy::kTcp || theirs.policy == Policy::kTcp) {
    return Choice{Path::kTcp, false, "transport=tcp was asked for"};
  }
  if (reaches_by_unix(mine, theirs)) return Choice{Path::kShm, true, "same machine"};
  if (mine.machine == theirs.machine) return Choice{Path::kTcp, false, "same machine, but no Unix socket"};
  return Choice{Path::kTcp, false, "different machines (" + machines(mine, theirs) + ")"};
}

}  // namespace ring::transport
