// Ranks that meet: all of them, again and again, several groups at once; and all that must stop them in
// words.
#include <doctest/doctest.h>

#include <string>  // for string
#include <thread>  // for thread

#include "meet.h"
#include "stranger.h"

namespace {

using namespace ring::testing;
using ring::Code;
using ring::Deadline;
using ring::Result;
using ring::Status;

bool whole(const Mesh& mesh, const std::string& kind) {
  for (int peer = 0; peer < mesh.size; ++peer) {
    const auto& link = mesh.links[static_cast<std::size_t>(peer)];
    if ((link == nullptr) != (peer == mesh.rank)) return false;
    if (link && (link->transport() != kind || link->peer() != peer)) return false;
    if (link && mesh.reasons[static_cast<std::size_t>(peer)].empty()) return false;
  }
  return true;
}

// Who met whom must hold: the bytes of each rank arrive at the peer that it means.
bool talks(std::vector<Mesh>& meshes) {
  bool right = true;
  for (auto& from : meshes) {
    for (auto& link : from.links) {
      const int own = from.rank;
      if (link) right = right && link->send_some(ring::Bytes(&own, sizeof own)).value() == sizeof own;
    }
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
  }
  return right;
}

}  // namespace

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
    const auto addresses = addresses_of(listeners);
    std::vector<Status> outcomes(2);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 2; ++rank) {
      threads.emplace_back([&, rank] {
        const auto place = static_cast<std::size_t>(rank);
        outcomes[place] = listeners[place].connect(options_for(rank, addresses, 0.5)).status();
      });
    }
    for (auto& thread : threads) thread.join();
    for (const auto& outcome : outcomes) {
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
  CHECK(code_with([](auto& o) { o.ring_bytes = 5000; }) == Code::kInvalidArgument);
  listeners[0].close();
  CHECK(code_with([](auto&) {}) == Code::kInvalidArgument);
  CHECK(Listener::open({"0.0.0.0", "tcp", ""}).status().code() == Code::kInvalidArgument);
  CHECK(Listener::open({"::", "tcp", ""}).status().code() == Code::kInvalidArgument);
  CHECK(Listener::open({"localhost", "tcp", ""}).status().code() == Code::kInvalidArgument);
  CHECK(Listener::open({"127.0.0.1", "rdma", ""}).status().code() == Code::kInvalidArgument);
  CHECK(Listener::open({"192.0.2.1", "tcp", ""}).status().code() == Code::kInvalidArgument);
}
