// Collectives and failures over TCP links with TLS and several streams.
#include <doctest/doctest.h>

#include <cstdint>  // for int64_t
#include <string>   // for string
#include <vector>   // for vector

#include "group.h"
#include "meet.h"
#include "suites/collectives.h"

namespace {

using namespace ring;
using namespace ring::testing;
using transport::tcp::TcpOptions;

TcpOptions made_of(bool tls, int streams) {
  TcpOptions options;
  options.tls = tls;
  options.streams = streams;
  return options;
}

std::vector<transport::Mesh> meshes_of(int size, const TcpOptions& tcp) {
  return met_meshes(size, "tcp", [](int, ConnectOptions&) {}, tcp);
}

TEST_CASE("sums are right over any number of streams, with and without tls") {
  for (const bool tls : {false, true}) {
    for (const int streams : {1, 2, 4}) {
      CAPTURE(tls);
      CAPTURE(streams);
      auto group = start_group(meshes_of(3, made_of(tls, streams)));
      for (const std::size_t count : {0U, 1U, 2U, 3U, 5U, 30011U, 300007U}) {
        check_allreduce(group, DType::kFloat32, ReduceOp::kSum, count);
      }
      check_allreduce(group, DType::kBFloat16, ReduceOp::kMean, 70001);
      check_reducescatter(group, DType::kInt64, ReduceOp::kSum, uneven_counts(3, 1000));
      check_allgather(group, DType::kBool, uneven_counts(3, 100001), false);
      check_broadcast(group, DType::kFloat64, 2, 50021);
    }
  }
}

// Every rank gives each `count` numbers that say who sends them to whom.
bool exchanges(Group& group, std::size_t count) {
  const std::size_t size = group.size();
  const backend::Counts parts(size, count);
  std::vector<std::vector<std::int64_t>> send(size);
  std::vector<std::vector<std::int64_t>> recv(size, std::vector<std::int64_t>(size * count));
  auto expected = recv;
  for (std::size_t rank = 0; rank < size; ++rank) {
    for (std::size_t i = 0; i < size * count; ++i) {
      const std::size_t peer = i / count;
      send[rank].push_back(static_cast<std::int64_t>(rank * 1000 + peer));
      expected[rank][i] = static_cast<std::int64_t>(peer * 1000 + rank);
    }
  }
  const auto outcomes = on_all(group, [&](Communicator& c) {
    return c.submit(comm::alltoall_of(reinterpret_cast<const std::byte*>(send[place(c)].data()), parts,
                                      reinterpret_cast<std::byte*>(recv[place(c)].data()), parts,
                                      DType::kInt64, {kPatience}));
  });
  return all_ok(outcomes) && recv == expected;
}

TEST_CASE("more ranks than have links, under tls: collectives open further ones") {
  auto group = start_group(meshes_of(10, made_of(true, 2)));
  check_allreduce(group, DType::kFloat32, ReduceOp::kSum, 1);
  check_allreduce(group, DType::kFloat32, ReduceOp::kSum, 100003);
  for (const std::size_t count : {1U, 70001U}) CHECK(exchanges(group, count));
}

TEST_CASE("an abort floods under tls, also to ranks that are not connected to its origin") {
  auto group = start_group(meshes_of(12, made_of(true, 1)));
  std::vector<Communicator::Submitted> works;
  for (auto& c : group) {
    if (c.rank() != 5) works.push_back(c.barrier({kPatience}));
  }
  group[5].abort("ValueError: bad row 7");
  group[5].close();
  for (const auto& work : works) {
    const auto status = outcome(work);
    CHECK(status.code() == Code::kAborted);
    CHECK(status.rank() == 5);
    CHECK(status.report().find("bad row 7") != std::string::npos);
  }
}

TEST_CASE("a rank that dies in a large reduce under tls is seen by all others") {
  for (const int streams : {1, 2}) {
    auto meshes = meshes_of(3, made_of(true, streams));
    transport::Mesh silent = std::move(meshes.back());
    meshes.pop_back();
    auto group = start_group(std::move(meshes));
    std::vector<Array> data(2, Array(DType::kFloat32, 1 << 20));
    std::vector<Communicator::Submitted> works;
    for (auto& c : group) {
      auto* bytes = data[place(c)].data();
      works.push_back(c.allreduce({bytes, bytes, DType::kFloat32, ReduceOp::kSum}, 1 << 20, {kPatience}));
    }
    silent = {};
    for (const auto& work : works) {
      const auto status = outcome(work);
      CHECK(status.code() == Code::kPeerLost);
      CHECK(status.rank() == 2);
    }
  }
}

}  // namespace
