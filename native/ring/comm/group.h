// Group: one set of ranks, with the backend that connects them. Owner: the engine. Thread-safety: `rank`,
// `size` and `id` from any thread; the rest belongs to whoever executes (see Engine).
#pragma once

#include <cstddef>  // for byte, size_t
#include <cstdint>  // for uint32_t, uint64_t
#include <memory>   // for shared_ptr, unique_ptr
#include <utility>  // for move
#include <vector>   // for vector

#include "ring/backend/backend.h"
#include "ring/base/deadline.h"
#include "ring/base/status.h"
#include "ring/comm/fingerprint.h"
#include "ring/comm/operation.h"

namespace ring::comm {

class Group {
 public:
  Group(std::uint32_t id, std::unique_ptr<backend::Backend> backend)
      : id_(id), rank_(backend->rank()), size_(backend->size()), backend_(std::move(backend)) {}

  [[nodiscard]] std::uint32_t id() const noexcept { return id_; }
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }

  // The number of the next operation; guarded by the engine's lock.
  [[nodiscard]] std::uint64_t next_sequence() noexcept { return ++sequence_; }

  // Both guarded by the engine's lock.
  [[nodiscard]] bool is_closed() const noexcept { return is_closed_; }
  void mark_closed() noexcept { is_closed_ = true; }

  // What the ranks ask for is compared on the way.
  [[nodiscard]] Status execute(const Operation& operation, const backend::Interrupt& interrupt,
                               const Deadline& deadline);
  [[nodiscard]] backend::Backend& backend() noexcept { return *backend_; }
  // What the backend has spent and moved since the last time.
  [[nodiscard]] backend::Meter take_meter();

 private:
  [[nodiscard]] Status dispatch(const Operation& operation, const backend::Call& call);
  [[nodiscard]] Status allgather(const Operation& operation, const backend::Call& call);
  [[nodiscard]] Status alltoall(const Operation& operation, const backend::Call& call);
  [[nodiscard]] Status allreduce_members(const Operation& operation, const backend::Call& call);
  [[nodiscard]] Status allreduce_fused(const Operation& operation, std::size_t first, std::size_t last,
                                       const backend::Call& call);

  const std::uint32_t id_;
  const int rank_;
  const int size_;
  std::unique_ptr<backend::Backend> backend_;
  backend::Meter metered_;
  std::uint64_t sequence_ = 0;
  bool is_closed_ = false;
  std::vector<std::byte> fused_;  // small members side by side; kept, so that its pages are touched once
};

using GroupPtr = std::shared_ptr<Group>;

}  // namespace ring::comm
