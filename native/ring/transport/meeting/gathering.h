// Gathering: the proven connections of a meeting, as they turn into the links of a Mesh. Thread-safety: none.
#pragma once

#include <array>   // for array
#include <string>  // for string
#include <vector>  // for vector

#include "ring/base/unique_fd.h"
#include "ring/transport/handshake/hello.h"
#include "ring/transport/meeting/context.h"
#include "ring/transport/mesh.h"
#include "ring/transport/shm/segment.h"

namespace ring::transport {

// Both halves of a shm connection after the handover.
struct ShmConnection {
  UniqueFd control;
  UniqueFd process;  // the peer's pidfd, where it could give one
  UniqueFd bell;     // this end's of the pair of sockets that wakes
  shm::Segment segment;
  Role role = Role::kConnector;  // of this end
};

// One proven TCP connection; kTcpControl or kTcpData.
struct TcpConnection {
  Channel channel = Channel::kTcpControl;
  std::uint64_t pairing = 0;
  UniqueFd socket;
};

class Gathering {
 public:
  explicit Gathering(const Context& context);

  // True when the peer has this channel, or a whole link, or when another process began a link as this peer.
  [[nodiscard]] bool is_taken(int peer, Channel channel, std::uint64_t pairing) const;
  // The link stands when control and data are both there.
  void add_tcp(int peer, TcpConnection connection, const std::string& reason);
  void add_shm(int peer, ShmConnection connection, const std::string& reason);

  [[nodiscard]] std::vector<int> missing() const;
  // Looks at the lifelines that stand: a peer may die or give up while others are still awaited.
  [[nodiscard]] Status check();
  void watch(std::vector<pollfd>& fds);
  void abort(const Status& cause);
  [[nodiscard]] Mesh take() { return std::move(mesh_); }

 private:
  struct TcpHalf {
    UniqueFd control;
    UniqueFd data;
    std::uint64_t pairing = 0;
  };
  void set_peer(std::unique_ptr<Lifeline> lifeline, std::unique_ptr<Link> link, const std::string& reason);

  const Context& context_;
  Mesh mesh_;
  std::vector<TcpHalf> halves_;  // by rank
};

}  // namespace ring::transport
