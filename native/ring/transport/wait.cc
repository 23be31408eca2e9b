// wait_any: the one place where a rank sleeps for data.
#include <poll.h>  // for poll

#include <cerrno>   // for errno
#include <cstddef>  // for size_t
#include <vector>   // for vector

#include "ring/transport/mesh.h"

namespace ring::transport {

std::map<int, std::string> transports_of(const Mesh& mesh) {
  std::map<int, std::string> transports;
  for (int peer = 0; peer < mesh.size; ++peer) {
    const bool local = mesh.topology.host_of[static_cast<std::size_t>(peer)] == mesh.topology.host();
    if (peer != mesh.rank) transports.emplace(peer, local ? mesh.local_transport : mesh.rail_transport);
  }
  return transports;
}

Result<bool> wait_any(Mesh& mesh, const std::vector<Want>& wants, int extra_fd, Deadline deadline) {
  std::vector<pollfd> fds;
  bool met = false;
  for (const Want& want : wants) {
    Link& link = *mesh.links[static_cast<std::size_t>(want.peer)];
    if (link.arm(want.interest, fds)) met = true;
  }
  if (met) return true;
  if (extra_fd >= 0) fds.push_back({extra_fd, POLLIN, 0});
  while (true) {
    const int count = ::poll(fds.data(), fds.size(), deadline.poll_ms());
    if (count > 0) return true;
    if (count < 0 && errno != EINTR) return Status::system("poll", errno, mesh.rank);
    if (deadline.passed()) return false;
  }
}

}  // namespace ring::transport
