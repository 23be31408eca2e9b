// Communicator: the collectives of one group of ranks, each submitted to the engine. A cheap handle: copies
// share one engine, which leaves the group with its last handle. Any thread may use it.
#pragma once

#include <map>      // for map
#include <memory>   // for shared_ptr
#include <string>   // for string
#include <utility>  // for move

#include "ring/backend/backend.h"
#include "ring/backend/work.h"
#include "ring/base/dtype.h"
#include "ring/base/status.h"
#include "ring/comm/engine.h"
#include "ring/comm/operation.h"
#include "ring/transport/link.h"

namespace ring::comm {

// How to run one collective.
struct Options {
  double timeout_s;
  std::string label = {};  // shown when ranks disagree; takes part in the check
};

class Communicator {
 public:
  [[nodiscard]] static Result<Communicator> start(transport::Mesh mesh);

  [[nodiscard]] int rank() const noexcept { return engine_->rank(); }
  [[nodiscard]] int size() const noexcept { return engine_->size(); }
  // Peer to transport name, own rank left out.
  [[nodiscard]] const std::map<int, std::string>& transports() const noexcept { return transports_; }

  using Submitted = Result<backend::WorkPtr>;
  // Buffers must stay alive and untouched until the work is done.
  [[nodiscard]] Submitted allreduce(const backend::Reduction& what, std::uint64_t count, Options options);
  // `what.recv` may be disjoint from `what.send` or be the own part of it.
  [[nodiscard]] Submitted reducescatter(const backend::Reduction& what, backend::Counts counts,
                                        Options options);
  [[nodiscard]] Submitted allgather(const std::byte* send, std::byte* recv, backend::Counts counts,
                                    DType dtype, Options options);
  [[nodiscard]] Submitted broadcast(std::byte* buffer, std::uint64_t count, DType dtype, int root,
                                    Options options);
  [[nodiscard]] Submitted barrier(Options options);
  // Anything else that all ranks do in the same order, such as a collective with a body of its own.
  [[nodiscard]] Submitted submit(Operation operation) { return engine_->submit(std::move(operation)); }

  void abort(const std::string& reason) { engine_->abort(reason); }
  // Like abort, for a failure that has a code and a rank to blame.
  void fail(const Status& cause) { engine_->fail(cause); }
  // Ok while alive, then the first cause.
  [[nodiscard]] Status failure() const { return engine_->failure(); }
  void close() { engine_->close(); }
  [[nodiscard]] bool is_forked() const noexcept { return engine_->is_forked(); }

 private:
  Communicator(std::shared_ptr<Engine> engine, std::map<int, std::string> transports)
      : engine_(std::move(engine)), transports_(std::move(transports)) {}

  std::shared_ptr<Engine> engine_;
  std::map<int, std::string> transports_;
};

}  // namespace ring::comm
