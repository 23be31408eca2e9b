// The same collectives, and the same failures, over real sockets and shared memory.
#include <doctest/doctest.h>

#include <chrono>  // for steady_clock
#include <string>  // for string
#include <vector>  // for vector

#include "group.h"
#include "meet.h"
#include "suites/collectives.h"

namespace {

using namespace ring;
using namespace ring::testing;
using Clock = std::chrono::steady_clock;

constexpr const char* kTransports[] = {"shm", "tcp"};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

TEST_CASE("every dtype and size over shm and tcp") {
  for (const std::string transport : kTransports) {
    for (int size = 1; size <= 4; ++size) {
      CAPTURE(transport);
      CAPTURE(size);
      auto group = start_group(met_meshes(size, transport));
      for (const auto& [peer, name] : group[0].transports()) CHECK(name == transport);
      for (const auto dtype : kReducible) {
        for (const std::size_t count : {1U, 30011U}) check_allreduce(group, dtype, ReduceOp::kMean, count);
        for (const std::size_t count : {0U, 3U}) check_allreduce(group, dtype, ReduceOp::kSum, count);
        check_reducescatter(group, dtype, ReduceOp::kSum, uneven_counts(size, 1000));
      }
      check_allgather(group, DType::kBool, uneven_counts(size, 1000), false);
      check_broadcast(group, DType::kInt64, size - 1, 30011);
    }
  }
}

TEST_CASE("buffers far larger than those of the transport") {
  for (const std::string transport : kTransports) {
    const auto small = [](int, ConnectOptions& options) {
      options.segment.slot_bytes = std::size_t{64} << 10;
    };
    transport::tcp::TcpOptions tcp;
    tcp.socket_buffer_bytes = 4096;
    auto group = start_group(met_meshes(3, transport, small, tcp));
    check_allreduce(group, DType::kFloat32, ReduceOp::kSum, 20011);
    check_allreduce(group, DType::kBFloat16, ReduceOp::kMean, 20011);
    check_broadcast(group, DType::kFloat64, 1, 20011);
  }
}

struct SilentRank {
  Group group;
  transport::Mesh silent;
};

SilentRank group_with_silent_last(int size, const std::string& transport) {
  auto meshes = met_meshes(size, transport);
  transport::Mesh silent = std::move(meshes.back());
  meshes.pop_back();
  return {start_group(std::move(meshes)), std::move(silent)};
}

TEST_CASE("a silent rank is named with its host by all others") {
  for (const std::string transport : kTransports) {
    auto ranks = group_with_silent_last(4, transport);
    const auto outcomes = on_all(ranks.group, [](Communicator& c) { return c.barrier({0.3, "stuck"}); });
    for (const auto& status : outcomes) {
      CHECK(status.code() == Code::kCollectiveTimeout);
      CHECK(status.rank() == 3);
      CHECK(status.host() == "host3");
    }
  }
}

TEST_CASE("a rank that dies in a large reduce is seen at once by all others") {
  for (const std::string transport : kTransports) {
    auto ranks = group_with_silent_last(3, transport);
    std::vector<Array> data(2, Array(DType::kFloat32, 1 << 20));
    std::vector<Communicator::Submitted> works;
    for (auto& c : ranks.group) {
      auto* bytes = data[place(c)].data();
      works.push_back(c.allreduce({bytes, bytes, DType::kFloat32, ReduceOp::kSum}, 1 << 20, {kPatience}));
    }
    const auto start = Clock::now();
    ranks.silent = {};
    for (const auto& work : works) {
      const auto status = outcome(work);
      CHECK(status.code() == Code::kPeerLost);
      CHECK(status.rank() == 2);
      CHECK(status.host() == "host2");
    }
    CHECK(seconds_since(start) < 5);
  }
}

TEST_CASE("an abort arrives with its reason, also from a rank that closes right after") {
  for (const std::string transport : kTransports) {
    auto group = start_group(met_meshes(3, transport));
    std::vector<Communicator::Submitted> works{group[0].barrier({kPatience}), group[2].barrier({kPatience})};
    group[1].abort("ValueError: bad row 7");
    group[1].close();
    for (const auto& work : works) {
      const auto status = outcome(work);
      CHECK(status.code() == Code::kAborted);
      CHECK(status.rank() == 1);
      CHECK(status.report().find("bad row 7") != std::string::npos);
    }
  }
}

}  // namespace
