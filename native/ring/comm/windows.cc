// Registered memory as operations, so that it keeps its order among collectives.
#include "ring/comm/communicator.h"

namespace ring::comm {
namespace {

Operation memory_of(Kind kind, std::size_t bytes, Options options) {
  Operation operation;
  operation.kind = kind;
  operation.count = bytes;
  operation.timeout_s = options.timeout_s;
  operation.label = options.label;
  return operation;
}

// Refusals that all ranks of the host get alike, after which the group goes on.
bool is_refusal(const Status& status) {
  return status.code() == Code::kSystem || status.code() == Code::kInvalidArgument;
}

}  // namespace

Result<backend::Window> Communicator::allocate(std::size_t bytes, Options options,
                                               const Engine::Check* give_up) {
  Result<backend::Window> made = Status(Code::kInternal, "did not run");
  Operation operation = memory_of(Kind::kAllocate, bytes, options);
  operation.body = [&](backend::Backend& backend, const backend::Interrupt&, const backend::Call& call) {
    made = backend.allocate(bytes, call);
    if (!made && is_refusal(made.status())) made = backend.backend::Backend::allocate(bytes, call);
    return made ? Status::ok() : made.status();
  };
  RING_TRY(run(std::move(operation), give_up));
  return made;
}

Result<std::optional<backend::Window>> Communicator::adopt(std::byte* data, std::size_t bytes,
                                                           Options options, const Engine::Check* give_up) {
  std::optional<backend::Window> adopted;
  Operation operation = memory_of(Kind::kAdopt, bytes, options);
  operation.body = [&](backend::Backend& backend, const backend::Interrupt&, const backend::Call& call) {
    auto made = backend.adopt(data, bytes, call);
    if (made) adopted = std::move(made).value();
    return made || is_refusal(made.status()) ? Status::ok() : made.status();
  };
  RING_TRY(run(std::move(operation), give_up));
  return adopted;
}

Status Communicator::release(const backend::Window& window, Options options, const Engine::Check* give_up) {
  Operation operation = memory_of(Kind::kRelease, window.bytes, options);
  operation.body = [&](backend::Backend& backend, const backend::Interrupt&, const backend::Call&) {
    backend.release(window);
    return Status::ok();
  };
  return run(std::move(operation), give_up);
}

}  // namespace ring::comm
