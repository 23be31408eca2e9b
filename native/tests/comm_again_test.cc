// Communicators that are made, used and closed again and again in one process leave nothing behind.
#include <doctest/doctest.h>

#include <thread>  // for thread
#include <vector>  // for vector

#include "group.h"
#include "held.h"
#include "meet.h"

namespace {

using namespace ring;
using namespace ring::testing;

std::vector<Communicator::Submitted> barriers(Group& group) {
  std::vector<Communicator::Submitted> works;
  for (auto& c : group) works.push_back(c.barrier({kPatience}));
  return works;
}

bool all_pass(Group& group) {
  bool right = true;
  for (const auto& work : barriers(group)) right = outcome(work).is_ok() && right;
  return right;
}

Group mixed_group(const std::vector<int>& host_of) {
  auto meshes = transport::inproc_meshes(host_of);
  REQUIRE(meshes);
  return start_group(std::move(meshes).value());
}

// A group of the given ranks, made by all.
std::vector<Communicator> split(Group& group, const std::vector<int>& ranks) {
  std::vector<std::optional<Communicator>> made(group.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < group.size(); ++i) {
    threads.emplace_back([&, i] {
      auto part = group[i].new_group(ranks, {kPatience});
      if (part) made[i] = std::move(part).value();
    });
  }
  for (auto& thread : threads) thread.join();
  std::vector<Communicator> members;
  for (auto& one : made) {
    if (one) members.push_back(std::move(*one));
  }
  return members;
}

}  // namespace

TEST_CASE("a thousand communicators, one after the other, hold nothing") {
  CHECK(all_pass(*std::make_unique<Group>(inproc_group(2))));
  const Held before = held();
  int passed = 0;
  for (int round = 0; round < 1000; ++round) {
    auto group = inproc_group(2);
    passed += all_pass(group) ? 1 : 0;
  }
  CHECK(passed == 1000);
  CHECK(holds_no_more_than(before));
}

TEST_CASE("groups of some ranks on several hosts hold nothing once their ring is gone") {
  CHECK(all_pass(*std::make_unique<Group>(mixed_group({0, 0, 1, 1}))));
  const Held before = held();
  for (int round = 0; round < 100; ++round) {
    auto group = mixed_group({0, 0, 1, 1});
    auto some = split(group, {0, 1, 2});
    auto all = split(group, {0, 1, 2, 3});
    REQUIRE(some.size() == 3);
    REQUIRE(all.size() == 4);
    REQUIRE(all_pass(some));
    REQUIRE(all_pass(all));
  }
  CHECK(holds_no_more_than(before));
}

TEST_CASE("a closed communicator gives back connections and memory, although its handles live") {
  const Held before = held();
  Group group = mixed_group({0, 0, 1, 1});
  auto some = split(group, {0, 1, 3});
  REQUIRE(all_pass(some));
  CHECK(held().mappings > before.mappings);
  for (auto& c : group) c.close();
  const auto handles = static_cast<std::ptrdiff_t>(2 * group.size());  // two eventfds each
  Held after = before;
  after.descriptors += handles;
  CHECK(holds_no_more_than(after));
  CHECK(some[0].barrier({kPatience}).status().code() == Code::kAborted);
  some.clear();
  group.clear();
  CHECK(holds_no_more_than(before));
}

TEST_CASE("memory that a caller still holds outlives its communicator, and goes with it") {
  const Held before = held();
  {
    auto group = inproc_group(2);
    std::vector<backend::Window> windows(2);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < 2; ++i) {
      threads.emplace_back([&, i] { windows[i] = group[i].allocate(1 << 20, {kPatience}).value(); });
    }
    for (auto& thread : threads) thread.join();
    group.clear();
    for (const auto& window : windows) window.address[(1 << 20) - 1] = std::byte{1};
    CHECK(held().mappings > before.mappings);
  }
  CHECK(holds_no_more_than(before));
}

TEST_CASE("ranks that meet over sockets again and again hold nothing") {
  for (const char* kind : {"shm", "tcp"}) {
    CHECK(all_pass(*std::make_unique<Group>(start_group(met_meshes(2, kind)))));
    const Held before = held();
    for (int round = 0; round < 100; ++round) {
      auto group = start_group(met_meshes(2, kind));
      REQUIRE(all_pass(group));
    }
    CHECK(holds_no_more_than(before));
  }
}
