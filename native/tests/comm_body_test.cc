// Operations that bring their own body, and failures that come from outside the engine.
#include <doctest/doctest.h>

#include <array>        // for array
#include <string>       // for string
#include <string_view>  // for string_view
#include <thread>       // for thread, this_thread
#include <utility>      // for move

#include "group.h"

namespace {

using namespace ring;
using namespace ring::testing;

comm::Operation with_body(std::string_view label, comm::Body body) {
  comm::Operation operation;
  operation.kind = comm::Kind::kBarrier;
  operation.timeout_s = kPatience;
  operation.label = label;
  operation.body = std::move(body);
  return operation;
}

TEST_CASE("a body runs in the order of submission, with the backend at its service") {
  auto group = inproc_group(2);
  std::array<float, 2> values{1, 2};
  std::vector<Communicator::Submitted> submitted;
  for (auto& communicator : group) {
    auto* value = reinterpret_cast<std::byte*>(&values[static_cast<std::size_t>(communicator.rank())]);
    const backend::Reduction what{value, value, DType::kFloat32, ReduceOp::kSum};
    submitted.push_back(communicator.allreduce(what, 1, {kPatience}));
    submitted.push_back(communicator.submit(
        with_body("twice", [what](backend::Backend& backend, const backend::Interrupt&,
                                  const backend::Call& call) { return backend.allreduce(what, 1, call); })));
  }
  for (const auto& one : submitted) CHECK(outcome(one));
  CHECK(values == std::array<float, 2>{6, 6});
  CHECK(group[0].failure().is_ok());
}

TEST_CASE("ranks whose bodies have other labels disagree") {
  auto group = inproc_group(2);
  const auto outcomes = on_all(group, [](Communicator& c) {
    const auto nothing = [](backend::Backend&, const backend::Interrupt&, const backend::Call&) {
      return Status::ok();
    };
    return c.submit(with_body(c.rank() == 0 ? "on a device" : "in host memory", nothing));
  });
  for (const auto& status : outcomes) CHECK(status.code() == Code::kMismatch);
}

TEST_CASE("a failure from outside reaches every rank with its code and its rank") {
  auto group = inproc_group(3);
  std::vector<Communicator::Submitted> waiting;
  for (auto& communicator : group) {
    if (communicator.rank() != 1) waiting.push_back(communicator.barrier({kPatience}));
  }
  group[1].fail({Code::kPeerLost, "the device of rank 2 fell off the bus", 2, "host-c"});
  for (const auto& one : waiting) {
    const auto status = outcome(one);
    CHECK(status.code() == Code::kPeerLost);
    CHECK(status.rank() == 2);
    CHECK(status.host() == "host-c");
    CHECK(status.report().find("fell off the bus") != std::string::npos);
  }
  CHECK(group[0].failure().code() == Code::kPeerLost);
}

TEST_CASE("a failure from outside may come at any moment") {
  for (int round = 0; round < 100; ++round) {
    auto group = inproc_group(2);
    group[0].fail({Code::kPeerLost, "gone", 1});
    const auto status = outcome(group[1].barrier({kPatience}));
    CHECK(status.code() == Code::kPeerLost);
  }
}

TEST_CASE("a failure that comes during a collective which ends well is known without another call") {
  auto group = inproc_group(2);
  std::thread other([&] {
    const auto nothing = [](backend::Backend&, const backend::Interrupt&, const backend::Call&) {
      return Status::ok();
    };
    CHECK(group[1].run(with_body("same", nothing)).is_ok());
    group[1].fail({Code::kPeerLost, "gone", 1});
  });
  const auto until_raised = [](backend::Backend&, const backend::Interrupt& interrupt,
                               const backend::Call& call) {
    while (!interrupt.raised() && !call.deadline.passed()) std::this_thread::yield();
    return Status::ok();
  };
  CHECK(group[0].run(with_body("same", until_raised)).is_ok());
  other.join();
  CHECK(heard_failure(group[0]).code() == Code::kPeerLost);
}

}  // namespace
