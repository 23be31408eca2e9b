// Pump: moves the streams of one collective to and from all its peers at once, each behind an agreement
// header, so that no order of calls can deadlock and ranks that disagree learn it before data is used.
// Owner: the Wire; used by the executing thread only. Keeps its memory between collectives.
#pragma once

#include <poll.h>  // for pollfd

#include <array>     // for array
#include <chrono>    // for steady_clock
#include <cstddef>   // for byte, size_t
#include <memory>    // for unique_ptr
#include <optional>  // for optional
#include <vector>    // for vector

#include "ring/algo/wire/stream.h"
#include "ring/backend/backend.h"
#include "ring/backend/interrupt.h"
#include "ring/base/deadline.h"
#include "ring/base/status.h"
#include "ring/shm/spin_budget.h"
#include "ring/transport/mesh.h"

namespace ring::algo::wire {

class Pump {
 public:
  // All must outlive the pump.
  Pump(transport::Mesh& mesh, backend::Interrupt& interrupt, backend::Meter& meter);

  // Forgets the lanes of the last collective.
  void begin() noexcept { num_lanes_ = 0; }
  // What goes to and comes from `peer`, a rank of the mesh. Null: only the header, or nothing to add to what
  // was said before.
  void add(int peer, Outgoing* out, Incoming* in);
  // The same for a peer that is not there yet: no search.
  void add_new(int peer, Outgoing* out, Incoming* in);
  // Runs until all is sent and received. kMismatch when a peer's header differs, kCollectiveTimeout naming
  // the peer it waited for, kPeerLost, kAborted when interrupted.
  [[nodiscard]] Status run(const backend::Call& call);

  // The peer that the last run was waiting for when it failed; -1 when it did not.
  [[nodiscard]] int waited_for() const noexcept { return waited_for_; }

 private:
  using Clock = std::chrono::steady_clock;
  // Holds the header and as much of the data as makes a small message one system call.
  static constexpr std::size_t kStage = 2048;

  struct Stage {
    std::size_t filled = 0;
    std::size_t used = 0;
    std::array<std::byte, kStage> bytes;
  };
  struct Lane {
    int peer = -1;
    transport::Link* link = nullptr;
    Outgoing* out = nullptr;
    Incoming* in = nullptr;
    bool send_blocked = false;
    bool recv_blocked = false;
    bool agreed = false;
    std::optional<Deadline> patience;  // since its stream has ended, for a word why
    Stage sending;
    Stage receiving;
  };

  static void stage(Lane& lane, Bytes header);
  static std::size_t unstage(Lane& lane);
  [[nodiscard]] static bool has_unsent(const Lane& lane);
  [[nodiscard]] static bool can_send(const Lane& lane);
  [[nodiscard]] static bool awaits(const Lane& lane);
  [[nodiscard]] static bool can_recv(const Lane& lane);

  [[nodiscard]] Result<std::size_t> send_some(Lane& lane);
  [[nodiscard]] Result<std::size_t> recv_some(Lane& lane, const backend::Call& call);
  [[nodiscard]] Result<std::size_t> recv_staged(Lane& lane, const backend::Call& call);
  [[nodiscard]] Result<std::size_t> move_some(const backend::Call& call);
  [[nodiscard]] bool is_done() const;

  [[nodiscard]] Status wait(const backend::Call& call);
  [[nodiscard]] Status sleep(const backend::Call& call);
  [[nodiscard]] bool arm();
  [[nodiscard]] Status check_ended(const backend::Call& call);
  [[nodiscard]] const Lane* first_waiting() const;
  [[nodiscard]] Status interrupted(const backend::Call& call);
  [[nodiscard]] Status timed_out(const backend::Call& call);
  [[nodiscard]] Status blame(const Status& difference, Lane& odd);
  void collect_headers(Deadline deadline);

  transport::Mesh& mesh_;
  backend::Interrupt& interrupt_;
  backend::Meter& meter_;
  shm::SpinBudget budget_;
  int waited_for_ = -1;
  std::size_t num_lanes_ = 0;
  std::vector<std::unique_ptr<Lane>> lanes_;
  bool is_ending_ = false;  // a stream has ended, and nobody said why
  std::vector<pollfd> fds_;
  std::vector<std::size_t> first_fd_;  // of each lane, one more at the end
};

}  // namespace ring::algo::wire
