// wait_any: the one place where the transport sleeps.
#include <poll.h>  // for poll

#include <cerrno>   // for errno
#include <cstddef>  // for size_t
#include <vector>   // for vector

#include "ring/transport/link.h"

namespace ring::transport {
namespace {

// What poll is given, and where the descriptors of each rank begin in it.
struct Watched {
  std::vector<pollfd> fds;
  std::vector<std::size_t> begin;  // by rank, one more at the end
  bool met = false;
};

unsigned interest_in(int peer, const std::vector<Want>& wants) {
  unsigned interest = kNone;
  for (const Want& want : wants) {
    if (want.peer == peer) interest |= want.interest;
  }
  return interest;
}

Watched arm_all(Mesh& mesh, const std::vector<Want>& wants, int extra_fd) {
  Watched watched;
  for (std::size_t rank = 0; rank < mesh.links.size(); ++rank) {
    watched.begin.push_back(watched.fds.size());
    if (!mesh.links[rank]) continue;
    const unsigned interest = interest_in(static_cast<int>(rank), wants);
    if (mesh.links[rank]->arm(interest, watched.fds)) watched.met = true;
  }
  watched.begin.push_back(watched.fds.size());
  if (extra_fd >= 0) watched.fds.push_back({extra_fd, POLLIN, 0});
  return watched;
}

Status check_woken(Mesh& mesh, const Watched& watched) {
  for (std::size_t rank = 0; rank < mesh.links.size(); ++rank) {
    bool woken = false;
    for (std::size_t i = watched.begin[rank]; i < watched.begin[rank + 1]; ++i) {
      woken = woken || watched.fds[i].revents != 0;
    }
    if (woken) RING_TRY(mesh.links[rank]->check());
  }
  return {};
}

}  // namespace

Result<bool> wait_any(Mesh& mesh, const std::vector<Want>& wants, int extra_fd, Deadline deadline) {
  Watched watched = arm_all(mesh, wants, extra_fd);
  if (watched.met) return true;
  while (true) {
    const int count = ::poll(watched.fds.data(), watched.fds.size(), deadline.poll_ms());
    if (count > 0) {
      RING_TRY(check_woken(mesh, watched));
      return true;
    }
    if (count < 0 && errno != EINTR) return Status::system("poll", errno, mesh.rank);
    if (deadline.passed()) return false;
  }
}

}  // namespace ring::transport
