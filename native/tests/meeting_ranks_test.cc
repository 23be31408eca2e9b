// Ranks that meet: all of them, again and again, several groups at once; and all that must stop them in
// words.
#include <doctest/doctest.h>

#include <algorithm>   // for count
#include <chrono>      // for steady_clock
#include <functional>  // for function
#include <numeric>     // for iota
#include <string>      // for string
#include <thread>      // for thread
#include <vector>      // for vector

#include "meet.h"
#include "stranger.h"

namespace {

using namespace ring::testing;
using ring::Code;
using ring::Deadline;
using ring::Result;
using ring::Status;
using ring::transport::transports_of;

constexpr std::size_t kSpare = 4000;  // a byte of the segment's first page that nobody uses

bool whole(const Mesh& mesh, const std::string& kind) {
  for (const auto& [peer, transport] : transports_of(mesh)) {
    if (transport != kind || mesh.reasons[static_cast<std::size_t>(peer)].empty()) return false;
  }
  for (const int peer : ring::plan::local_neighbours(mesh.topology)) {
    if (!mesh.lifelines[static_cast<std::size_t>(peer)]) return false;
  }
  for (const int peer : ring::plan::rail_neighbours(mesh.topology)) {
    const auto place = static_cast<std::size_t>(peer);
    if (!mesh.lifelines[place] || !mesh.links[place] || mesh.links[place]->peer() != peer) return false;
  }
  return (mesh.segment != nullptr) == (mesh.topology.local_size() > 1);
}

// Who met whom must hold: the bytes of each rank arrive at the peer that it means, and memory is the same for
// all ranks of a host and for no others.
bool talks(std::vector<Mesh>& meshes) {
  bool right = true;
  for (auto& from : meshes) {
    const int own = from.rank;
    for (auto& link : from.links) {
      if (link) right = right && link->send_some(ring::Bytes(&own, sizeof own)).value() == sizeof own;
    }
    if (from.segment && from.topology.local_index() == 0) from.segment->base()[kSpare] = std::byte(own + 1);
  }
  for (auto& to : meshes) {
    for (auto& link : to.links) {
      if (!link) continue;
      int heard = -1;
      right =
          right && wait_any(to, {{link->peer(), ring::transport::kCanRecv}}, -1, Deadline::after(30)).value();
      right = right && link->recv_some(ring::MutableBytes(&heard, sizeof heard)).value() == sizeof heard;
      right = right && heard == link->peer();
    }
    const int first = to.topology.local_ranks().front();
    if (to.segment) right = right && to.segment->base()[kSpare] == std::byte(first + 1);
  }
  return right;
}

// Listeners of ranks on the given hosts, over shared memory inside of them and TCP between them.
std::vector<Listener> listeners_on(const std::vector<int>& hosts) {
  std::vector<Listener> listeners;
  for (const int host : hosts) {
    auto listener = Listener::open({"127.0.0.1", "auto", "machine-" + std::to_string(host)});
    REQUIRE(listener);
    listeners.push_back(std::move(listener).value());
  }
  return listeners;
}

}  // namespace

// The first `count` ranks come, the rest never does; what each was told, by rank.
std::vector<Status> first_to_come(std::vector<Listener>& listeners, int count,
                                  const std::function<double(int)>& timeout_of) {
  const auto addresses = addresses_of(listeners);
  std::vector<Status> outcomes(static_cast<std::size_t>(count));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank) {
    threads.emplace_back([&, rank] {
      const auto place = static_cast<std::size_t>(rank);
      const auto options = options_for(rank, addresses, timeout_of(rank));
      outcomes[place] = listeners[place].connect(options).status();
    });
  }
  for (auto& thread : threads) thread.join();
  return outcomes;
}

TEST_CASE("four ranks meet fifty times and leave no descriptor behind") {
  for (const char* kind : {"tcp", "shm"}) {
    const auto before = open_descriptors();
    for (int round = 0; round < 50; ++round) {
      auto meshes = met_meshes(4, kind);
      for (const auto& mesh : meshes) REQUIRE(whole(mesh, kind));
      REQUIRE(talks(meshes));
    }
    CHECK(open_descriptors() == before);
  }
}

TEST_CASE("two groups meet at once") {
  std::vector<Mesh> one;
  std::vector<Mesh> two;
  std::thread other([&] { one = met_meshes(3, "auto"); });
  two = met_meshes(3, "tcp");
  other.join();
  CHECK(talks(one));
  CHECK(talks(two));
}

TEST_CASE("ranks of several hosts meet, each host with its own memory") {
  const std::vector<std::vector<int>> shapes{
      {0, 0, 1, 1}, {0, 1, 0, 1, 0}, {0, 0, 0, 1}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, std::vector<int>(12, 0)};
  for (const auto& hosts : shapes) {
    auto listeners = listeners_on(hosts);
    std::vector<Mesh> meshes;
    for (auto& outcome : meet_all(listeners)) {
      REQUIRE_MESSAGE(outcome, outcome.status().report());
      meshes.push_back(std::move(outcome).value());
      CHECK((meshes.back().extender != nullptr) == (meshes.back().topology.num_hosts() > 1));
    }
    CHECK(talks(meshes));
    for (const auto& mesh : meshes) {
      for (const auto& [peer, transport] : transports_of(mesh)) {
        const bool local =
            hosts[static_cast<std::size_t>(peer)] == hosts[static_cast<std::size_t>(mesh.rank)];
        CHECK(transport == (local ? "shm" : "tcp"));
      }
    }
  }
}

TEST_CASE("many ranks hold few descriptors each") {
  for (const char* kind : {"tcp", "shm"}) {
    const auto before = open_descriptors();
    const auto few = met_meshes(10, kind);
    const auto each = (open_descriptors() - before) / 10;
    const auto start = std::chrono::steady_clock::now();
    const auto many = met_meshes(24, kind);
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
    CHECK(open_descriptors() - before <= 10 * each + 24 * (each + 1));
    CHECK(each < 16);
  }
}

TEST_CASE("who knows of no missing neighbour hears from others who is missing") {
  auto listeners = open_listeners(12, "tcp");  // rank 11 has few neighbours
  for (const auto& outcome : first_to_come(listeners, 11, [](int) { return 0.5; })) {
    CHECK(outcome.code() == Code::kRendezvousTimeout);
    CHECK(outcome.rank() == 11);
  }
}

TEST_CASE("all learn of all that the first one misses at its deadline") {
  auto listeners = open_listeners(13, "tcp");  // rank 5 is the parent of rank 11 and of rank 12
  const auto outcomes = first_to_come(listeners, 11, [](int rank) { return rank == 5 ? 0.5 : 60.0; });
  for (const auto& outcome : outcomes) {
    CHECK(outcome.code() == Code::kRendezvousTimeout);
    CHECK(outcome.missing() == std::vector<int>{11, 12});
  }
}

TEST_CASE("more links are opened when all call for them at once") {
  auto meshes = met_meshes(10, "tcp");
  std::vector<int> all(meshes.size());
  std::iota(all.begin(), all.end(), 0);
  std::vector<Status> outcomes(meshes.size());
  std::vector<std::thread> threads;
  for (auto& mesh : meshes) {
    threads.emplace_back([&] {
      ring::backend::Interrupt interrupt;
      auto others = all;
      others.erase(others.begin() + mesh.rank);
      outcomes[static_cast<std::size_t>(mesh.rank)] =
          mesh.extender->extend(mesh.links, others, Deadline::after(30), interrupt);
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& outcome : outcomes) CHECK_MESSAGE(outcome, outcome.report());
  for (const auto& mesh : meshes) {
    CHECK(std::count(mesh.links.begin(), mesh.links.end(), nullptr) == 1);
  }
  CHECK(talks(meshes));
}

TEST_CASE("a link to a rank that does not call for it ends in words") {
  auto meshes = met_meshes(10, "tcp");
  ring::backend::Interrupt interrupt;
  const auto late = meshes[4].extender->extend(meshes[4].links, {6}, Deadline::after(0.2), interrupt);
  CHECK(late.code() == Code::kCollectiveTimeout);
  CHECK(late.rank() == 6);
  interrupt.mark_left(7);
  CHECK(meshes[4].extender->extend(meshes[4].links, {7}, Deadline::after(30), interrupt).code() ==
        Code::kPeerLost);
  interrupt.raise();
  CHECK(meshes[4].extender->extend(meshes[4].links, {8}, Deadline::after(30), interrupt).code() ==
        Code::kAborted);
}

TEST_CASE("one rank alone has met everybody") {
  auto meshes = met_meshes(1, "auto");
  CHECK(meshes.front().size == 1);
  CHECK(meshes.front().hosts.front() == "host0");
}

TEST_CASE("auto takes shared memory on one machine and tcp between machines") {
  auto here = met_meshes(2, "auto");
  CHECK(whole(here[0], "shm"));
  std::vector<Listener> listeners;
  listeners.push_back(Listener::open({"127.0.0.1", "auto", "machine-a"}).value());
  listeners.push_back(Listener::open({"127.0.0.1", "auto", "machine-b"}).value());
  for (auto& outcome : meet_all(listeners)) {
    REQUIRE(outcome);
    CHECK(whole(outcome.value(), "tcp"));
    CHECK(outcome.value().reasons[outcome.value().rank == 0 ? 1 : 0].find("different machines") == 0);
  }
}

TEST_CASE("ranks meet over IPv6") {
  auto probe = Listener::open({"::1", "tcp", ""});
  if (!probe) return;  // a machine without IPv6
  auto listeners = open_listeners(3, "tcp", "::1");
  for (auto& outcome : meet_all(listeners)) CHECK_MESSAGE(outcome, outcome.status().report());
}

TEST_CASE("a rank that never comes is named at the deadline, to everyone") {
  for (const char* kind : {"tcp", "shm"}) {
    auto listeners = open_listeners(3, kind);
    for (const auto& outcome : first_to_come(listeners, 2, [](int) { return 0.5; })) {
      CHECK(outcome.code() == Code::kRendezvousTimeout);
      CHECK(outcome.rank() == 2);
      CHECK(outcome.host() == "host2");
      CHECK(outcome.message().find("rank 2 on host host2") != std::string::npos);
    }
  }
}

TEST_CASE("a meeting is given up when its owner says so") {
  auto listeners = open_listeners(2, "tcp");
  int asked = 0;
  auto options = options_for(0, addresses_of(listeners), 60);
  options.cancelled = [&asked] { return ++asked == 3; };
  CHECK(listeners[0].connect(options).status().code() == Code::kAborted);
  CHECK(asked == 3);
}

TEST_CASE("a lower rank whose process has ended is noticed long before the deadline") {
  for (const char* kind : {"tcp", "shm"}) {
    auto listeners = open_listeners(2, kind);
    const auto addresses = addresses_of(listeners);
    listeners[0].close();
    const Status outcome = listeners[1].connect(options_for(1, addresses, 60)).status();
    CHECK(outcome.code() == Code::kRendezvous);
    CHECK(outcome.rank() == 0);
  }
}

TEST_CASE("a rank with a wrong secret stays outside, the others say who is missing") {
  auto listeners = open_listeners(3, "tcp");
  const auto outcomes = meet_all(listeners, 2, [](int rank, ConnectOptions& options) {
    if (rank == 2) options.secret = std::string(32, 'x');
  });
  CHECK(outcomes[2].status().code() == Code::kRendezvous);
  CHECK(outcomes[2].status().message().find("another secret") != std::string::npos);
  CHECK(outcomes[0].status().code() == Code::kRendezvousTimeout);
  CHECK(outcomes[0].status().rank() == 2);
  CHECK(outcomes[0].status().message().find("without the secret") != std::string::npos);
  CHECK(listeners[0].refusals().unproven > 0);
}

TEST_CASE("a rank of another run or generation stays outside") {
  for (const bool stale_generation : {false, true}) {
    auto listeners = open_listeners(2, "tcp");
    const auto outcomes = meet_all(listeners, 1, [&](int rank, ConnectOptions& options) {
      if (rank == 1 && stale_generation) options.generation = 3;
      if (rank == 1 && !stale_generation) options.run_id = "yesterday";
    });
    CHECK(outcomes[1].status().code() == Code::kRendezvous);
    CHECK(outcomes[0].status().code() == Code::kRendezvousTimeout);
    CHECK(listeners[0].refusals().other_run > 0);
  }
}

TEST_CASE("a proven rank that counts other ranks is a typed error on both sides") {
  auto listeners = open_listeners(2, "tcp");
  const auto extra = open_listeners(1, "tcp").front().address();
  const auto outcomes = meet_all(listeners, 30, [&](int rank, ConnectOptions& options) {
    if (rank != 1) return;
    options.addresses.push_back(extra);
    options.hosts.emplace_back("host2");
  });
  CHECK(outcomes[0].status().code() == Code::kRendezvous);
  CHECK(outcomes[0].status().message().find("counts 3 ranks") != std::string::npos);
  CHECK(outcomes[1].status().code() == Code::kRendezvous);
  CHECK(outcomes[1].status().message().find("counts 2 ranks") != std::string::npos);
}

TEST_CASE("shared memory across machines is refused at once on both sides") {
  std::vector<Listener> listeners;
  listeners.push_back(Listener::open({"127.0.0.1", "shm", "machine-a"}).value());
  listeners.push_back(Listener::open({"127.0.0.1", "shm", "machine-b"}).value());
  for (const auto& outcome : meet_all(listeners)) {
    CHECK(outcome.status().code() == Code::kRendezvous);
    CHECK(outcome.status().message().find("different machines") != std::string::npos);
  }
}

TEST_CASE("options that cannot be are refused before anything is sent") {
  auto listeners = open_listeners(2, "tcp");
  const auto addresses = addresses_of(listeners);
  const auto code_with = [&](auto change) {
    auto options = options_for(0, addresses, 1);
    change(options);
    return listeners[0].connect(options).status().code();
  };
  CHECK(code_with([](auto& o) { o.secret = "short"; }) == Code::kInvalidArgument);
  CHECK(code_with([](auto& o) { o.rank = 2; }) == Code::kInvalidArgument);
  CHECK(code_with([](auto& o) { o.rank = -1; }) == Code::kInvalidArgument);
  CHECK(code_with([](auto& o) { o.rank = 1; }) == Code::kInvalidArgument);
  CHECK(code_with([](auto& o) { o.addresses[1] = "rubbish"; }) == Code::kInvalidArgument);
  CHECK(code_with([](auto& o) { o.hosts.pop_back(); }) == Code::kInvalidArgument);
  listeners[0].close();
  CHECK(code_with([](auto&) {}) == Code::kInvalidArgument);
  CHECK(Listener::open({"0.0.0.0", "tcp", ""}).status().code() == Code::kInvalidArgument);
  CHECK(Listener::open({"::", "tcp", ""}).status().code() == Code::kInvalidArgument);
  CHECK(Listener::open({"localhost", "tcp", ""}).status().code() == Code::kInvalidArgument);
  CHECK(Listener::open({"127.0.0.1", "rdma", ""}).status().code() == Code::kInvalidArgument);
  CHECK(Listener::open({"192.0.2.1", "tcp", ""}).status().code() == Code::kInvalidArgument);
}
