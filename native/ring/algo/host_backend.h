// HostBackend: the collectives of one group of ranks over host memory. Ranks that share memory reduce among
// themselves (Local); what has to leave the host goes along rails, the ranks of equal local index on all
// hosts (Wire). So a host is crossed once in each direction, and its ranks share the bytes.
// Owner: the engine; made anywhere, then used by the thread that executes a collective only.
#pragma once

#include <memory>    // for shared_ptr, unique_ptr
#include <optional>  // for optional
#include <string>    // for string
#include <vector>    // for vector

#include "ring/algo/local/local.h"
#include "ring/algo/wire/scratch.h"
#include "ring/algo/wire/wire.h"
#include "ring/backend/backend.h"
#include "ring/backend/interrupt.h"
#include "ring/plan/topology.h"
#include "ring/shm/areas.h"
#include "ring/shm/seat.h"
#include "ring/transport/mesh.h"

namespace ring::algo {

class HostBackend final : public backend::Backend {
 public:
  // The group of all ranks. Takes what it needs of the mesh: not the lifelines. `interrupt` must outlive the
  // backend. kSystem when the shared memory has no room.
  [[nodiscard]] static Result<std::unique_ptr<HostBackend>> make(transport::Mesh mesh,
                                                                 backend::Interrupt& interrupt);

  // Shares links and segment with this one.
  [[nodiscard]] Result<std::unique_ptr<Backend>> split(const std::vector<int>& ranks,
                                                       const backend::Call& call) override;

  [[nodiscard]] int rank() const noexcept override { return topology_.rank; }
  [[nodiscard]] int size() const noexcept override { return topology_.size; }
  [[nodiscard]] int world_rank(int rank) const noexcept override;
  [[nodiscard]] std::string host_of(int world_rank) const override;
  [[nodiscard]] const plan::Topology& topology() const noexcept { return topology_; }

  [[nodiscard]] Status allreduce(const backend::Reduction& what, std::uint64_t count,
                                 const backend::Call& call) override;
  [[nodiscard]] Status reducescatter(const backend::Reduction& what, const backend::Counts& counts,
                                     const backend::Call& call) override;
  [[nodiscard]] Status allgather(Bytes send, std::byte* recv, const backend::Counts& bytes,
                                 const backend::Call& call) override;
  [[nodiscard]] Status broadcast(MutableBytes buffer, int root, const backend::Call& call) override;
  [[nodiscard]] Status alltoall(const std::byte* send, const backend::Counts& send_bytes, std::byte* recv,
                                const backend::Counts& recv_bytes, const backend::Call& call) override;
  [[nodiscard]] Status barrier(const backend::Call& call) override;

  [[nodiscard]] const backend::Meter& meter() const noexcept override { return meter_; }
  [[nodiscard]] int waited_for() const noexcept override;
  void close() noexcept override;

  [[nodiscard]] Result<Window> allocate(std::size_t bytes, const backend::Call& call) override;
  [[nodiscard]] Result<Window> adopt(std::byte* address, std::size_t bytes,
                                     const backend::Call& call) override;
  void release(const Window& window) override;

  [[nodiscard]] Local& local() noexcept { return *local_; }
  [[nodiscard]] Wire& rail() noexcept { return *rail_; }

 private:
  // What a group and those split from it have in common.
  struct Shared {
    transport::Mesh mesh;
    std::shared_ptr<shm::Seat> seat;  // null where no memory is shared
  };

  HostBackend(std::shared_ptr<Shared> shared, backend::Interrupt& interrupt, std::vector<int> ranks,
              plan::Topology topology);
  [[nodiscard]] static Result<std::unique_ptr<HostBackend>> form(std::shared_ptr<Shared> shared,
                                                                 backend::Interrupt& interrupt,
                                                                 std::vector<int> ranks,
                                                                 plan::Topology topology,
                                                                 const shm::GroupArea& area);
  // Where the members here of a group of some of these ranks meet: the first of them takes an area and all
  // ranks of this group on the host hear of it.
  [[nodiscard]] Result<shm::GroupArea> agree_on_area(const std::vector<int>& ranks,
                                                     const backend::Call& call);
  [[nodiscard]] Status join_host(const shm::GroupArea& area);
  void join_rail();
  // Links to the neighbours on the rail: a group that was split off may have none yet.
  [[nodiscard]] Status reach_rail(const backend::Call& call);
  [[nodiscard]] bool is_linked_to(const std::vector<int>& mesh_ranks) const;
  [[nodiscard]] Status reach_all(const std::vector<Wire::Pair>& pairs, const backend::Call& call);
  [[nodiscard]] Status reach(const std::vector<int>& mesh_ranks, const backend::Call& call);

  [[nodiscard]] bool one_host() const noexcept { return topology_.num_hosts() == 1; }
  [[nodiscard]] bool one_rank_each() const noexcept { return topology_.num_hosts() == topology_.size; }
  [[nodiscard]] bool on_rail() const noexcept { return local_index_ < rails_; }
  [[nodiscard]] const std::vector<int>& ranks_on(int host) const;
  // The rank whose data the `round`-th turn of rail `rail` carries on `host`; -1 for none.
  [[nodiscard]] int carried(int host, int rail, int round) const;
  [[nodiscard]] int rounds(int host) const;

  [[nodiscard]] wire::Values values_of(const backend::Reduction& what) const;
  [[nodiscard]] kernel::Scaling scaling_of(const backend::Reduction& what) const;
  [[nodiscard]] Status allreduce_mixed(const backend::Reduction& what, std::uint64_t count,
                                       const backend::Call& call);
  [[nodiscard]] Status reducescatter_mixed(const backend::Reduction& what, const plan::Parts& parts,
                                           const backend::Call& call);
  [[nodiscard]] Status scatter_on_host(const backend::Reduction& what, const kernel::Scaling& scaling,
                                       const plan::Parts& parts, const backend::Call& call);
  [[nodiscard]] Status hand_over(const std::byte* carried_values, std::byte* recv, const plan::Parts& parts,
                                 std::size_t width, const backend::Call& call);
  [[nodiscard]] Status allgather_mixed(std::byte* recv, const plan::Parts& parts, const backend::Call& call);
  [[nodiscard]] Status broadcast_mixed(MutableBytes buffer, int root, const backend::Call& call);
  [[nodiscard]] Status alltoall_on_host(const std::byte* send, const plan::Parts& out, std::byte* recv,
                                        const plan::Parts& in, const backend::Call& call);

  std::shared_ptr<Shared> shared_;
  backend::Interrupt& interrupt_;
  std::vector<int> ranks_;  // of the mesh, by rank of the group
  plan::Topology topology_;
  int host_;
  int local_index_;
  int rails_;
  bool owns_mesh_ = false;
  bool is_rail_reached_ = false;
  bool is_all_reached_ = false;
  backend::Meter meter_;
  std::optional<Local> local_;  // alone where no other rank of the group is on this host
  std::optional<Wire> rail_;    // alone where this rank is on none
  plan::Parts parts_;           // kept, so that small calls allocate nothing
  plan::Parts local_parts_;
  plan::Parts rail_parts_;
  wire::Scratch scratch_;
  wire::Scratch results_;
};

}  // namespace ring::algo
