// Ranks that meet with TLS or several streams; and what is refused.
#include <doctest/doctest.h>
#include <poll.h>        // for poll
#include <sys/socket.h>  // for socketpair

#include <algorithm>  // for min
#include <string>     // for string
#include <thread>     // for thread
#include <utility>    // for move
#include <vector>     // for vector

#include "meet.h"
#include "ring/transport/tcp/link.h"
#include "stranger.h"
#include "suites/link_suite.h"

namespace {

using namespace ring::transport;
using ring::Bytes;
using ring::Code;
using ring::Deadline;
using ring::MutableBytes;
using ring::Result;
using ring::Status;
using tcp::TcpOptions;

TcpOptions secure() {
  TcpOptions options;
  options.tls = true;
  return options;
}

TcpOptions with_streams(int streams) {
  TcpOptions options;
  options.streams = streams;
  return options;
}

std::vector<Listener> listeners_with(const std::vector<TcpOptions>& by_rank) {
  std::vector<Listener> listeners;
  for (const TcpOptions& tcp : by_rank) {
    ListenOptions options("127.0.0.1", "tcp", "");
    options.tcp = tcp;
    auto listener = Listener::open(options);
    REQUIRE_MESSAGE(listener, listener.status().report());
    listeners.push_back(std::move(listener).value());
  }
  return listeners;
}

std::vector<Mesh> meshes_with(const std::vector<TcpOptions>& by_rank) {
  auto listeners = listeners_with(by_rank);
  std::vector<Mesh> meshes;
  for (auto& outcome : ring::testing::meet_all(listeners)) {
    REQUIRE_MESSAGE(outcome, outcome.status().report());
    meshes.push_back(std::move(outcome).value());
  }
  return meshes;
}

void sleep_until(Link& link, unsigned interest) {
  std::vector<pollfd> fds;
  if (!link.arm(interest, fds)) ::poll(fds.data(), fds.size(), 10'000);
}

// Sends `bytes` through one link in pieces of odd sizes and checks them at the other end.
void carry(Link& from, Link& to, std::size_t bytes) {
  std::string sent(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) sent[i] = static_cast<char>(i * 31 + i / 4096);
  std::string got(bytes, '\0');
  std::thread sender([&] {
    std::size_t out = 0;
    while (out < bytes) {
      const auto moved =
          from.send_some(Bytes(sent.data() + out, std::min<std::size_t>(bytes - out, 300'001)));
      if (!moved) return;
      out += moved.value();
      if (moved.value() == 0) sleep_until(from, kCanSend);
    }
  });
  std::size_t in = 0;
  const Deadline deadline = Deadline::after(20);
  while (in < bytes && !deadline.passed()) {
    const auto moved = to.recv_some(MutableBytes(got.data() + in, std::min<std::size_t>(bytes - in, 77'777)));
    REQUIRE_MESSAGE(moved, moved.status().report());
    in += moved.value();
    if (moved.value() == 0) sleep_until(to, kCanRecv);
  }
  sender.join();
  CHECK(in == bytes);
  CHECK(got == sent);
}

ring::testing::LinkKind kind_of(const TcpOptions& options) {
  TcpOptions tight = options;
  tight.socket_buffer_bytes = 4096;
  const auto meshes_of = [](const TcpOptions& tcp) {
    return
        [=](int size) { return meshes_with(std::vector<TcpOptions>(static_cast<std::size_t>(size), tcp)); };
  };
  return {meshes_of(options), meshes_of(tight), 20'000, std::size_t{64} << 10};
}

ring::testing::LinkKind under_tls() {
  return kind_of(secure());
}

ring::testing::LinkKind four_streams() {
  return kind_of(with_streams(4));
}

}  // namespace

RING_LINK_SUITE("tcp under tls", under_tls)
RING_LINK_SUITE("tcp over four streams", four_streams)

TEST_CASE("several streams keep the order of the bytes") {
  for (const int streams : {1, 2, 4}) {
    CAPTURE(streams);
    auto meshes = meshes_with({with_streams(streams), with_streams(streams)});
    carry(*meshes[0].links[1], *meshes[1].links[0], 3'000'017);
    carry(*meshes[1].links[0], *meshes[0].links[1], 1'000'003);
  }
}

TEST_CASE("the smaller number of streams counts, under tls too") {
  TcpOptions two = secure();
  two.streams = 2;
  TcpOptions four = secure();
  four.streams = 4;
  auto meshes = meshes_with({two, four});
  carry(*meshes[0].links[1], *meshes[1].links[0], 2'000'001);
}

TEST_CASE("links that are opened later have tls and streams as well") {
  TcpOptions both = secure();
  both.streams = 2;
  auto meshes = meshes_with(std::vector<TcpOptions>(10, both));
  REQUIRE_FALSE(meshes[4].links[6]);
  std::vector<Status> outcomes(2);
  std::vector<std::thread> threads;
  for (const auto& [rank, peer] : {std::pair(4, 6), std::pair(6, 4)}) {
    threads.emplace_back([&, rank = rank, peer = peer] {
      ring::backend::Interrupt interrupt;
      Mesh& mesh = meshes[static_cast<std::size_t>(rank)];
      outcomes[rank == 6] = mesh.extender->extend(mesh.links, {peer}, Deadline::after(30), interrupt);
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& outcome : outcomes) REQUIRE_MESSAGE(outcome, outcome.report());
  carry(*meshes[4].links[6], *meshes[6].links[4], 1'000'003);
  carry(*meshes[6].links[4], *meshes[4].links[6], 7);
}

TEST_CASE("tls: a rank that dies is lost to its peers") {
  auto meshes = meshes_with({secure(), secure()});
  meshes[1] = Mesh();  // every descriptor closed, without a farewell
  Lifeline& line = *meshes[0].lifelines[1];
  const Deadline deadline = Deadline::after(20);
  while (line.check().is_ok() && !deadline.passed()) {
    std::vector<pollfd> fds;
    line.watch(fds);
    ::poll(fds.data(), fds.size(), deadline.poll_ms(1000));
  }
  CHECK(line.lost().code() == Code::kPeerLost);
  CHECK(line.lost().rank() == 1);
  CHECK_FALSE(line.left());
}

TEST_CASE("settings that cannot be are refused") {
  const auto code_with = [](int streams, int buffer_bytes) {
    ListenOptions options("127.0.0.1", "tcp", "");
    options.tcp.streams = streams;
    options.tcp.socket_buffer_bytes = buffer_bytes;
    return Listener::open(options).status().code();
  };
  for (const int streams : {0, 17, -1}) CHECK(code_with(streams, 0) == Code::kInvalidArgument);
  CHECK(code_with(1, -1) == Code::kInvalidArgument);
  CHECK(code_with(16, 65536) == Code::kOk);
}
