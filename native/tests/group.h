// Groups of ranks in one process. Work is asynchronous, so one test thread can play all ranks.
#pragma once

#include <doctest/doctest.h>

#include <functional>  // for function
#include <thread>      // for yield
#include <vector>      // for vector

#include "ring/backend/work.h"
#include "ring/comm/communicator.h"
#include "ring/transport/inproc/group.h"

namespace ring::testing {

using comm::Communicator;
using Group = std::vector<Communicator>;

inline constexpr double kPatience = 60;  // far above what anything takes, sanitizers included

inline Group start_group(std::vector<transport::Mesh> meshes) {
  Group group;
  for (auto& mesh : meshes) {
    auto communicator = Communicator::start(std::move(mesh));
    REQUIRE(communicator);
    group.push_back(std::move(communicator).value());
  }
  return group;
}

inline Group inproc_group(int size) {
  auto meshes = transport::inproc_meshes(size);
  REQUIRE(meshes);
  return start_group(std::move(meshes).value());
}

inline Status outcome(const backend::WorkPtr& work) {
  REQUIRE(work->wait_for(kPatience));
  return work->status();
}

inline Status outcome(const Communicator::Submitted& submitted) {
  return submitted ? outcome(submitted.value()) : submitted.status();
}

// What a rank hears of a failure of its group, when it has come. Calls nothing: what its peers had begun
// could still end well, or be another call.
inline Status heard_failure(const Communicator& communicator) {
  const auto give_up = Deadline::after(kPatience);
  while (communicator.failure().is_ok() && !give_up.passed()) std::this_thread::yield();
  return communicator.failure();
}

// Submits on every rank, then waits for all; outcomes by rank.
inline std::vector<Status> on_all(Group& group,
                                  const std::function<Communicator::Submitted(Communicator&)>& submit) {
  std::vector<Communicator::Submitted> submitted;
  for (auto& communicator : group) submitted.push_back(submit(communicator));
  std::vector<Status> outcomes;
  for (const auto& one : submitted) outcomes.push_back(outcome(one));
  return outcomes;
}

inline bool all_ok(const std::vector<Status>& outcomes) {
  for (const auto& status : outcomes) {
    if (!status) {
      MESSAGE(status.report());
      return false;
    }
  }
  return true;
}

}  // namespace ring::testing
