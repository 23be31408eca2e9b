// HostBackend: the collectives over host memory = plans + links + kernel.
// Owner: the engine; made anywhere, then used by its progress thread only.
#pragma once

#include <memory>  // for shared_ptr, unique_ptr
#include <string>  // for string
#include <vector>  // for vector

#include "ring/algo/pump.h"
#include "ring/algo/reduce.h"
#include "ring/backend/backend.h"
#include "ring/backend/interrupt.h"
#include "ring/transport/mesh.h"

namespace ring::algo {

class HostBackend final : public backend::Backend {
 public:
  // Takes what it needs of the mesh: not the lifelines. `interrupt` must outlive the backend.
  HostBackend(transport::Mesh mesh, backend::Interrupt& interrupt);

  [[nodiscard]] int rank() const noexcept override { return rank_; }
  [[nodiscard]] int size() const noexcept override { return static_cast<int>(ranks_.size()); }
  [[nodiscard]] std::string host_of(int rank) const override;
  [[nodiscard]] int world_rank(int rank) const noexcept override;
  [[nodiscard]] Result<std::unique_ptr<backend::Backend>> split(const std::vector<int>& ranks) override;

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

  [[nodiscard]] Status swap_headers(Bytes mine, MutableBytes previous, MutableBytes next,
                                    const backend::Call& call) override;
  [[nodiscard]] int waited_for() const noexcept override { return pump_.waited_for(); }
  void close() noexcept override;

 private:
  HostBackend(std::shared_ptr<transport::Mesh> mesh, std::vector<int> ranks, int rank,
              backend::Interrupt& interrupt);
  [[nodiscard]] Lane lane() { return {rank_, size(), pump_, windows_, partials_}; }
  [[nodiscard]] Status allgather_parts(std::byte* data, const plan::Parts& parts, const backend::Call& call);

  std::shared_ptr<transport::Mesh> mesh_;
  std::vector<int> ranks_;  // their numbers in the mesh
  int rank_;
  backend::Interrupt& interrupt_;
  Pump pump_;
  backend::Meter meter_;
  Scratch windows_;
  Scratch partials_;
};

}  // namespace ring::algo
