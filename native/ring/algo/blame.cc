#include "ring/algo/blame.h"

#include <poll.h>  // for poll, pollfd

#include <set>     // for set
#include <string>  // for to_string
#include <vector>  // for vector

#include "ring/base/deadline.h"

namespace ring::algo {
namespace {

// An engine answers in well under a millisecond unless its machine is overloaded.
constexpr double kGraceSeconds = 0.3;

bool is_peer(const transport::Mesh& mesh, int rank) {
  return rank >= 0 && rank < mesh.size && rank != mesh.rank;
}

// What `peer` said or became by the deadline; ok: still nothing.
Status hear(transport::Link& peer, const backend::Interrupt& interrupt, Deadline deadline) {
  while (true) {
    const Status said = peer.check();
    if (!said || deadline.passed() || interrupt.raised()) return said;
    std::vector<pollfd> fds;
    if (peer.arm(transport::kNone, fds)) continue;
    fds.push_back({interrupt.fd(), POLLIN, 0});
    ::poll(fds.data(), fds.size(), deadline.poll_ms());
  }
}

}  // namespace

Status own_view(const transport::Mesh& mesh, const Status& cause, int waited_for) {
  const bool blames_us = cause.code() == Code::kCollectiveTimeout && cause.rank() == mesh.rank;
  if (!blames_us || !is_peer(mesh, waited_for)) return cause;
  const auto& host = mesh.hosts[static_cast<std::size_t>(waited_for)];
  const std::string text = "rank " + std::to_string(mesh.rank) +
                           " kept others waiting because it waited for rank " + std::to_string(waited_for) +
                           " on " + host;
  return Status(Code::kCollectiveTimeout, text, waited_for, host).because(cause);
}

Status settle(transport::Mesh& mesh, const Status& cause, const backend::Interrupt& interrupt) {
  const auto grace = Deadline::after(kGraceSeconds);
  std::set<int> asked;
  Status best = cause;
  while (is_peer(mesh, best.rank()) && asked.insert(best.rank()).second) {
    const Status said = hear(*mesh.links[static_cast<std::size_t>(best.rank())], interrupt, grace);
    if (said) break;                                                                   // no answer: stopped
    if (said.rank() == best.rank() && said.code() == Code::kCollectiveTimeout) break;  // it takes the blame
    if (said.rank() < 0 || said.rank() == mesh.rank) break;                            // nobody else to ask
    best = said;
  }
  return best;
}

}  // namespace ring::algo
