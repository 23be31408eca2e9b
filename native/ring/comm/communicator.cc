#include "ring/comm/communicator.h"

namespace ring::comm {
namespace {

Operation make(Kind kind, DType dtype, Options options) {
  Operation operation;
  operation.kind = kind;
  operation.dtype = dtype;
  operation.timeout_s = options.timeout_s;
  operation.label = options.label;
  return operation;
}

Operation make_reduction(Kind kind, const backend::Reduction& what, Options options) {
  Operation operation = make(kind, what.dtype, options);
  operation.op = what.op;
  operation.send = what.send;
  operation.recv = what.recv;
  operation.prescale = what.prescale;
  operation.postscale = what.postscale;
  operation.wire = what.wire;
  operation.residual = what.residual;
  return operation;
}

}  // namespace

Operation allreduce_of(const backend::Reduction& what, std::uint64_t count, Options options) {
  Operation operation = make_reduction(Kind::kAllreduce, what, options);
  operation.count = count;
  return operation;
}

Operation reducescatter_of(const backend::Reduction& what, backend::Counts counts, Options options) {
  Operation operation = make_reduction(Kind::kReducescatter, what, options);
  operation.counts = std::move(counts);
  return operation;
}

Operation allgather_of(const std::byte* send, std::byte* recv, backend::Counts counts, DType dtype,
                       Options options) {
  Operation operation = make(Kind::kAllgather, dtype, options);
  operation.counts = std::move(counts);
  operation.send = send;
  operation.recv = recv;
  return operation;
}

Operation broadcast_of(std::byte* buffer, std::uint64_t count, DType dtype, int root, Options options) {
  Operation operation = make(Kind::kBroadcast, dtype, options);
  operation.count = count;
  operation.root = root;
  operation.send = buffer;
  operation.recv = buffer;
  return operation;
}

Operation alltoall_of(const std::byte* send, backend::Counts send_counts, std::byte* recv,
                      backend::Counts recv_counts, DType dtype, Options options) {
  Operation operation = make(Kind::kAlltoall, dtype, options);
  operation.counts = std::move(send_counts);
  operation.recv_counts = std::move(recv_counts);
  operation.send = send;
  operation.recv = recv;
  return operation;
}

Operation grouped_allreduce_of(std::vector<Member> members, ReduceOp op, Options options) {
  Operation operation = make(Kind::kGroupedAllreduce, DType::kUint8, options);
  operation.op = op;
  operation.members = std::move(members);
  return operation;
}

Operation barrier_of(Options options) {
  return make(Kind::kBarrier, DType::kUint8, options);
}

Result<Communicator> Communicator::start(transport::Mesh mesh) {
  auto transports = transport::transports_of(mesh);
  std::map<int, std::string> reasons;
  for (std::size_t rank = 0; rank < mesh.reasons.size(); ++rank) {
    if (!mesh.reasons[rank].empty()) reasons.emplace(static_cast<int>(rank), mesh.reasons[rank]);
  }
  auto engine = Engine::start(std::move(mesh));
  if (!engine) return engine.status();
  auto shared = std::move(engine).value();
  const GroupPtr world = shared->world();
  Communicator communicator(std::move(shared), world, true);
  communicator.transports_ = std::move(transports);
  communicator.reasons_ = std::move(reasons);
  return communicator;
}

Result<std::optional<Communicator>> Communicator::new_group(const std::vector<int>& ranks, Options options,
                                                            const Engine::Check* give_up) {
  std::unique_ptr<backend::Backend> made;
  std::uint32_t id = 0;
  Operation operation = make(Kind::kNewGroup, DType::kUint8, options);
  operation.counts.assign(ranks.begin(), ranks.end());
  operation.body = [&](backend::Backend& parent, const backend::Interrupt&, const backend::Call& call) {
    RING_TRY(parent.barrier(call));  // nobody uses the group before all have agreed on it
    auto split = parent.split(ranks, call);
    if (!split) return split.status();
    made = std::move(split).value();
    id = static_cast<std::uint32_t>(call.what.hash());  // of parent, number and ranks: the same on all
    return Status::ok();
  };
  RING_TRY(run(std::move(operation), give_up));
  if (!made) return std::optional<Communicator>();
  auto group = std::make_shared<Group>(id, std::move(made));
  engine_->keep(group);
  Communicator communicator(engine_, std::move(group), false);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const auto transport = transports_.find(ranks[i]);
    const auto reason = reasons_.find(ranks[i]);
    if (transport != transports_.end()) communicator.transports_[static_cast<int>(i)] = transport->second;
    if (reason != reasons_.end()) communicator.reasons_[static_cast<int>(i)] = reason->second;
  }
  return std::optional<Communicator>(std::move(communicator));
}

}  // namespace ring::comm
