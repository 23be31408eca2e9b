#include "ring/comm/communicator.h"

namespace ring::comm {
namespace {

Operation make(Kind kind, DType dtype, backend::Counts counts, Options options) {
  Operation operation;
  operation.kind = kind;
  operation.dtype = dtype;
  operation.counts = std::move(counts);
  operation.timeout_s = options.timeout_s;
  operation.label = std::move(options.label);
  return operation;
}

Operation make_reduction(Kind kind, const backend::Reduction& what, backend::Counts counts, Options options) {
  Operation operation = make(kind, what.dtype, std::move(counts), std::move(options));
  operation.op = what.op;
  operation.send = what.send;
  operation.recv = what.recv;
  return operation;
}

}  // namespace

Result<Communicator> Communicator::start(transport::Mesh mesh) {
  std::map<int, std::string> transports;
  for (const auto& link : mesh.links) {
    if (link) transports.emplace(link->peer(), link->transport());
  }
  auto engine = Engine::start(std::move(mesh));
  if (!engine) return engine.status();
  return Communicator(std::move(engine).value(), std::move(transports));
}

Communicator::Submitted Communicator::allreduce(const backend::Reduction& what, std::uint64_t count,
                                                Options options) {
  return engine_->submit(make_reduction(Kind::kAllreduce, what, {count}, std::move(options)));
}

Communicator::Submitted Communicator::reducescatter(const backend::Reduction& what, backend::Counts counts,
                                                    Options options) {
  return engine_->submit(make_reduction(Kind::kReducescatter, what, std::move(counts), std::move(options)));
}

Communicator::Submitted Communicator::allgather(const std::byte* send, std::byte* recv,
                                                backend::Counts counts, DType dtype, Options options) {
  Operation operation = make(Kind::kAllgather, dtype, std::move(counts), std::move(options));
  operation.send = send;
  operation.recv = recv;
  return engine_->submit(std::move(operation));
}

Communicator::Submitted Communicator::broadcast(std::byte* buffer, std::uint64_t count, DType dtype, int root,
                                                Options options) {
  Operation operation = make(Kind::kBroadcast, dtype, {count}, std::move(options));
  operation.root = root;
  operation.send = buffer;
  operation.recv = buffer;
  return engine_->submit(std::move(operation));
}

Communicator::Submitted Communicator::barrier(Options options) {
  return engine_->submit(make(Kind::kBarrier, DType::kUint8, {}, std::move(options)));
}

}  // namespace ring::comm
