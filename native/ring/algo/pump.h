// Pump: moves bytes to and from any peers at the same time, so that no order of calls can deadlock.
// Owner: HostBackend; used by its progress thread only.
#pragma once

#include <cstddef>     // for size_t
#include <functional>  // for function
#include <vector>      // for vector

#include "ring/backend/backend.h"
#include "ring/backend/interrupt.h"
#include "ring/base/bytes.h"
#include "ring/base/status.h"
#include "ring/transport/mesh.h"

namespace ring::algo {

inline constexpr int kNoGate = -1;

struct Send {
  int peer = -1;
  Bytes bytes;
  int gate = kNoGate;    // index of a receive: only what has arrived there may be sent on
  std::size_t sent = 0;  // progress, kept by the pump
};

struct Receive {
  // Gets each full window, and the rest: [offset, offset + bytes.size) of what is received.
  using Consume = std::function<void(std::size_t offset, Bytes bytes)>;

  int peer = -1;
  std::size_t total = 0;
  MutableBytes window;  // all of `total`, or a piece of it that is consumed again and again
  Consume consume = nullptr;
  std::size_t arrived = 0;   // progress, kept by the pump
  std::size_t consumed = 0;  // likewise
};

class Pump {
 public:
  // All must outlive the pump; `ranks` are the numbers in the mesh of the peers that it is called with.
  Pump(transport::Mesh& mesh, const std::vector<int>& ranks, backend::Interrupt& interrupt);

  // Runs until all is sent and received. kCollectiveTimeout names the peer it waited for.
  [[nodiscard]] Status run(std::vector<Send>& sends, std::vector<Receive>& receives,
                           const backend::Call& call);

  // The peer that the last run was waiting for when it ended; -1 when it ended well.
  [[nodiscard]] int waited_for() const noexcept { return waited_for_; }

 private:
  struct Transfers {
    std::vector<Send>& sends;
    std::vector<Receive>& receives;
  };
  [[nodiscard]] Result<std::size_t> send_some(Send& send, const std::vector<Receive>& receives);
  [[nodiscard]] Result<std::size_t> receive_some(Receive& receive);
  [[nodiscard]] Result<std::size_t> move_some(Transfers transfers);
  [[nodiscard]] Status sleep(Transfers transfers, const backend::Call& call);
  [[nodiscard]] Status timed_out(Transfers transfers, const backend::Call& call) const;
  [[nodiscard]] int world(int peer) const { return ranks_[static_cast<std::size_t>(peer)]; }
  [[nodiscard]] transport::Link& link(int peer) {
    return *mesh_.links[static_cast<std::size_t>(world(peer))];
  }

  transport::Mesh& mesh_;
  const std::vector<int>& ranks_;
  backend::Interrupt& interrupt_;
  bool may_spin_;
  int waited_for_ = -1;
  std::vector<transport::Want> wants_;
};

}  // namespace ring::algo
