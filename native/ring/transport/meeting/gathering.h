// Gathering: the proven connections of a meeting, as they turn into the links and lifelines of a Mesh.
// Thread-safety: none.
#pragma once

#include <poll.h>  // for pollfd

#include <cstdint>   // for uint64_t
#include <optional>  // for optional
#include <vector>    // for vector

#include "ring/transport/meeting/context.h"
#include "ring/transport/meeting/guests.h"
#include "ring/transport/meeting/half_link.h"
#include "ring/transport/mesh.h"

namespace ring::transport {

class Gathering final : public Guests {
 public:
  explicit Gathering(const Context& context);

  [[nodiscard]] bool expects(int peer, Channel channel) const override;
  [[nodiscard]] bool is_taken(int peer, Channel channel, std::uint64_t pairing) const override;
  void add(int peer, Proven connection) override;

  // Neighbours that lack a connection.
  [[nodiscard]] std::vector<int> missing() const;
  // Null until the peer has come.
  [[nodiscard]] Lifeline* lifeline(int peer) noexcept;
  // Looks at those that have come: a peer may die or give up while others are still awaited.
  [[nodiscard]] Status check();
  void watch(std::vector<pollfd>& fds) const;
  void abort(const Status& cause);
  [[nodiscard]] Mesh take() { return std::move(mesh_); }

 private:
  const Context& context_;
  Mesh mesh_;
  std::vector<int> local_;
  std::vector<int> rail_;
  std::vector<std::optional<std::uint64_t>> pairings_;  // by rank, of its first connection
  std::vector<HalfLink> halves_;                        // by rank: data until all of it and control are there
};

}  // namespace ring::transport
