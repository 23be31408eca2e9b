// Communicator: the collectives of one group of ranks, each handed to the engine. A cheap handle: copies
// share one engine, which leaves the ring with its last handle. Any thread may use it.
#pragma once

#include <map>          // for map
#include <memory>       // for shared_ptr
#include <optional>     // for optional
#include <string>       // for string
#include <string_view>  // for string_view
#include <utility>      // for move
#include <vector>       // for vector

#include "ring/backend/backend.h"
#include "ring/backend/work.h"
#include "ring/base/dtype.h"
#include "ring/base/status.h"
#include "ring/comm/engine.h"
#include "ring/comm/operation.h"
#include "ring/transport/mesh.h"

namespace ring::comm {

// How to run one collective.
struct Options {
  double timeout_s;
  std::string_view label = {};  // shown when ranks disagree; takes part in the check
};

// Operations to submit or to run. Buffers must stay alive and untouched until the work is done.
[[nodiscard]] Operation allreduce_of(const backend::Reduction& what, std::uint64_t count, Options options);
// `what.recv` may be disjoint from `what.send` or be the own part of it.
[[nodiscard]] Operation reducescatter_of(const backend::Reduction& what, backend::Counts counts,
                                         Options options);
[[nodiscard]] Operation allgather_of(const std::byte* send, std::byte* recv, backend::Counts counts,
                                     DType dtype, Options options);
[[nodiscard]] Operation broadcast_of(std::byte* buffer, std::uint64_t count, DType dtype, int root,
                                     Options options);
// Elements to and from each rank; the parts lie in rank order.
[[nodiscard]] Operation alltoall_of(const std::byte* send, backend::Counts send_counts, std::byte* recv,
                                    backend::Counts recv_counts, DType dtype, Options options);
[[nodiscard]] Operation grouped_allreduce_of(std::vector<Member> members, ReduceOp op, Options options);
[[nodiscard]] Operation barrier_of(Options options);

class Communicator {
 public:
  [[nodiscard]] static Result<Communicator> start(transport::Mesh mesh);

  [[nodiscard]] int rank() const noexcept { return group_->rank(); }
  [[nodiscard]] int size() const noexcept { return group_->size(); }
  // Peer to transport name, own rank left out.
  [[nodiscard]] const std::map<int, std::string>& transports() const noexcept { return transports_; }
  // Peer to the reason for its transport, where one is known.
  [[nodiscard]] const std::map<int, std::string>& reasons() const noexcept { return reasons_; }

  using Submitted = Result<backend::WorkPtr>;
  [[nodiscard]] Submitted submit(Operation operation) {
    return engine_->submit(*group_, std::move(operation));
  }
  // Blocks; see Engine::run.
  [[nodiscard]] Status run(Operation operation, const Engine::Check* give_up = nullptr) {
    return engine_->run(*group_, std::move(operation), give_up);
  }

  [[nodiscard]] Submitted allreduce(const backend::Reduction& what, std::uint64_t count, Options options) {
    return submit(allreduce_of(what, count, options));
  }
  [[nodiscard]] Submitted reducescatter(const backend::Reduction& what, backend::Counts counts,
                                        Options options) {
    return submit(reducescatter_of(what, std::move(counts), options));
  }
  [[nodiscard]] Submitted allgather(const std::byte* send, std::byte* recv, backend::Counts counts,
                                    DType dtype, Options options) {
    return submit(allgather_of(send, recv, std::move(counts), dtype, options));
  }
  [[nodiscard]] Submitted broadcast(std::byte* buffer, std::uint64_t count, DType dtype, int root,
                                    Options options) {
    return submit(broadcast_of(buffer, count, dtype, root, options));
  }
  [[nodiscard]] Submitted barrier(Options options) { return submit(barrier_of(options)); }

  // A communicator of some of these ranks, numbered in the given order; none on a rank that is not among
  // them. All ranks call it alike. It shares sockets and memory with this one and ends with it: a failure of
  // one is a failure of both.
  [[nodiscard]] Result<std::optional<Communicator>> new_group(const std::vector<int>& ranks, Options options,
                                                              const Engine::Check* give_up = nullptr);

  // Memory that ranks of one host reduce in place; all ranks call these alike. Where it cannot be shared:
  // allocate gives private memory, adopt nothing. `data` must live and keep its place until it is released.
  [[nodiscard]] Result<backend::Window> allocate(std::size_t bytes, Options options,
                                                 const Engine::Check* give_up = nullptr);
  [[nodiscard]] Result<std::optional<backend::Window>> adopt(std::byte* data, std::size_t bytes,
                                                             Options options,
                                                             const Engine::Check* give_up = nullptr);
  // An adopted window's contents move back; an allocated one may not be touched any more.
  [[nodiscard]] Status release(const backend::Window& window, Options options,
                               const Engine::Check* give_up = nullptr);

  void abort(const std::string& reason) { engine_->abort(reason); }
  // Like abort, for a failure that has a code and a rank to blame.
  void fail(const Status& cause) { engine_->fail(cause); }
  // Ok while alive, then the first cause.
  [[nodiscard]] Status failure() const { return engine_->failure(); }
  // Leaves the ring. A group of some ranks gives its memory back and says nothing to the ring.
  void close() {
    if (is_world_) return engine_->close();
    engine_->close_group(*group_);
  }
  [[nodiscard]] bool is_forked() const noexcept { return engine_->is_forked(); }
  [[nodiscard]] Engine& engine() noexcept { return *engine_; }

 private:
  using Texts = std::map<int, std::string>;  // by peer
  Communicator(std::shared_ptr<Engine> engine, GroupPtr group, bool is_world)
      : engine_(std::move(engine)), group_(std::move(group)), is_world_(is_world) {}

  std::shared_ptr<Engine> engine_;
  GroupPtr group_;
  bool is_world_;
  Texts transports_;
  Texts reasons_;
};

}  // namespace ring::comm
