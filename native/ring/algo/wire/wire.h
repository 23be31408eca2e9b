// Wire: the collectives of one rank per host, over stream links. Owner: HostBackend; used by the thread that
// executes a collective only. After a failure nothing may be called again: what is under way is unknown.
//
// Every collective is behind an agreement header on each link that it uses, all links move at once, and the
// result has the same bits on all members. Nothing is allocated by a small call once one was made.
#pragma once

#include <cstddef>  // for byte
#include <cstdint>  // for uint64_t
#include <vector>   // for vector

#include "ring/algo/wire/arithmetic.h"
#include "ring/algo/wire/party.h"
#include "ring/backend/backend.h"
#include "ring/backend/interrupt.h"
#include "ring/base/bytes.h"
#include "ring/base/status.h"
#include "ring/plan/parts.h"
#include "ring/transport/mesh.h"

namespace ring::algo {

class Wire {
 public:
  // `ranks`: the members in order, as ranks of the mesh, `mesh.rank` among them. The mesh must have links to
  // plan::neighbours of the own place; it and the others must outlive the wire.
  Wire(transport::Mesh& mesh, std::vector<int> ranks, backend::Interrupt& interrupt, backend::Meter& meter);

  [[nodiscard]] int index() const noexcept { return party_.index; }
  [[nodiscard]] int size() const noexcept { return party_.size(); }

  // What algorithms are chosen by. The same on all members.
  void assume(const plan::Speeds& speeds) noexcept { party_.speeds = speeds; }

  [[nodiscard]] Status allreduce(const wire::Values& values, std::uint64_t count, const backend::Call& call);
  // `parts` of the own values by member, any disjoint ranges; the own part's result goes to `values.out`.
  [[nodiscard]] Status reducescatter(const wire::Values& values, const plan::Parts& parts,
                                     const backend::Call& call);
  // `parts` of `data` in bytes by member, any disjoint ranges; the own one is in place already.
  [[nodiscard]] Status allgather(std::byte* data, const plan::Parts& parts, const backend::Call& call);
  [[nodiscard]] Status broadcast(MutableBytes buffer, int root, const backend::Call& call);
  // What one rank of the mesh, member or not, is given and gives.
  struct Pair {
    int rank;
    Bytes send;
    MutableBytes recv;
  };
  // With all the given ranks at once. Needs links to them; each names this one with the same sizes.
  [[nodiscard]] Status alltoall(const std::vector<Pair>& pairs, const backend::Call& call);
  [[nodiscard]] Status barrier(const backend::Call& call);

  // The rank that the last collective was waiting for when it failed; -1 for none.
  [[nodiscard]] int waited_for() const noexcept { return party_.pump.waited_for(); }

 private:
  wire::Party party_;
};

}  // namespace ring::algo
