// Ranks that disagree, are silent or are told to stop: one typed failure, soon, whatever algorithms they
// chose.
#include <doctest/doctest.h>

#include <chrono>  // for steady_clock
#include <string>  // for string
#include <vector>  // for vector

#include "wire_group.h"

namespace {

using namespace ring;
using namespace ring::testing;
using Clock = std::chrono::steady_clock;

Status reduce(algo::Wire& wire, std::vector<float>& data, const backend::Call& call) {
  algo::wire::Values values{};
  values.own = reinterpret_cast<const std::byte*>(data.data());
  values.out = reinterpret_cast<std::byte*>(data.data());
  values.from = values.to = values.wire = DType::kFloat32;
  return wire.allreduce(values, data.size(), call);
}

std::vector<int> all_members(int size) {
  std::vector<int> members(static_cast<std::size_t>(size));
  std::iota(members.begin(), members.end(), 0);
  return members;
}

TEST_CASE("members that ask for different sizes, and so for different algorithms, all or nearly all see it") {
  for (const int size : {2, 3, 4, 9}) {
    auto group = inproc_wires(size);
    const int odd = size - 1;
    const auto start = Clock::now();
    const auto outcomes = group.on(
        all_members(size),
        [&](algo::Wire& wire, const backend::Call& call) {
          std::vector<float> data(wire.index() == odd ? 1U << 20 : 4U);
          return reduce(wire, data, call);
        },
        [&](int member) { return std::string(member == odd ? "large" : "small"); }, 2);
    for (const int member : {0, size - 2, odd}) {  // its neighbours and itself
      const auto& status = outcomes[static_cast<std::size_t>(member)];
      CHECK(status.code() == Code::kMismatch);
      CHECK(status.rank() == odd);
      CHECK(status.message().find("large") != std::string::npos);
      CHECK(status.message().find("small") != std::string::npos);
    }
    CHECK(std::chrono::duration<double>(Clock::now() - start).count() < 30);
  }
}

TEST_CASE("a member that calls another collective is seen by its neighbours") {
  auto group = inproc_wires(3);
  const auto outcomes = group.on(
      all_members(3),
      [&](algo::Wire& wire, const backend::Call& call) {
        std::vector<float> data(1U << 18);
        if (wire.index() == 1) return wire.barrier(call);
        return reduce(wire, data, call);
      },
      [&](int member) { return std::string(member == 1 ? "barrier" : "allreduce"); }, 5);
  for (const auto& status : outcomes) {
    CHECK(status.code() == Code::kMismatch);
    CHECK(status.rank() == 1);
  }
}

TEST_CASE("a silent member is named by those who wait for it") {
  for (const int size : {2, 4}) {
    auto group = inproc_wires(size);
    std::vector<int> there = all_members(size);
    there.pop_back();
    const auto outcomes = group.on(
        there, [](algo::Wire& wire, const backend::Call& call) { return wire.barrier(call); },
        [](int) { return std::string("barrier"); }, 0.2);
    for (const int member : there) {
      const auto& status = outcomes[static_cast<std::size_t>(member)];
      CHECK(status.code() == Code::kCollectiveTimeout);
      CHECK(status.rank() == size - 1);
      CHECK(group.wire(member).waited_for() == size - 1);
      CHECK(status.message().find("0.20 s") != std::string::npos);
    }
  }
}

TEST_CASE("an interrupt ends what waits") {
  auto group = inproc_wires(2);
  std::thread later([&] { group.interrupt(0).raise(); });
  const auto outcomes = group.on(
      {0}, [](algo::Wire& wire, const backend::Call& call) { return wire.barrier(call); },
      [](int) { return std::string("barrier"); });
  later.join();
  CHECK(outcomes[0].code() == Code::kAborted);
  CHECK(group.wire(0).waited_for() == 1);
}

}  // namespace
