// Half a rank, with the right secret: two processes that claim one rank, and one that dies between its two
// connections.
#include <doctest/doctest.h>
#include <poll.h>  // for poll

#include <algorithm>  // for copy_n
#include <thread>     // for thread
#include <vector>     // for vector

#include "meet.h"
#include "ring/base/hmac.h"
#include "ring/transport/handshake/greeting.h"
#include "stranger.h"

namespace {

using namespace ring::testing;
using namespace ring::transport;
using ring::Bytes;
using ring::Code;
using ring::Result;
using ring::Status;

// The identity of rank 1 of 2 in the run that options_for() describes.
Identity rank_one() {
  const char domain[] = "sparkdl-ring run id";
  const Bytes secret(kSecret.data(), kSecret.size());
  Identity self;
  self.rank = 1;
  self.size = 2;
  std::copy_n(secret.data, secret.size, self.secret.begin());
  self.run = ring::hmac_sha256(secret, {Bytes(domain, sizeof domain), Bytes("run", 3)});
  return self;
}

// Knocks at rank 0 and talks as rank 1 until it is let in or shown out.
Greeting call(const std::string& address, Channel channel, std::uint64_t pairing,
              Greeting::Progress expected) {
  Greeting greeting(knock(address), Conversation::connecting(rank_one(), {0, channel, pairing}).value());
  auto progress = greeting.advance();
  while (progress == Greeting::Progress::kPending) {
    std::vector<pollfd> fds;
    greeting.watch(fds);
    ::poll(fds.data(), fds.size(), 1000);
    progress = greeting.advance();
  }
  CHECK(progress == expected);
  return greeting;
}

}  // namespace

TEST_CASE("of two processes that claim one rank the first stays, and no link is made of both") {
  using Progress = Greeting::Progress;
  auto listeners = open_listeners(2, "tcp");
  const auto addresses = addresses_of(listeners);
  Result<Mesh> outcome = Status(Code::kInternal, "not run");
  std::thread zero([&] { outcome = listeners[0].connect(options_for(0, addresses, 30)); });
  auto control = call(addresses[0], Channel::kTcpControl, 1, Progress::kProven);
  (void)call(addresses[0], Channel::kTcpControl, 2, Progress::kClosed);
  (void)call(addresses[0], Channel::kTcpData, 2, Progress::kClosed);
  (void)call(addresses[0], Channel::kTcpControl, 1, Progress::kClosed);
  auto data = call(addresses[0], Channel::kTcpData, 1, Progress::kProven);
  const auto first_socket = control.take_socket();  // both held open until the end
  say(first_socket, encode_word(FrameKind::kReady));
  zero.join();
  REQUIRE_MESSAGE(outcome, outcome.status().message());
  CHECK(listeners[0].refusals().duplicate == 3);
  CHECK(outcome.value().lifelines[1]->check().is_ok());
}

TEST_CASE("a rank that dies between its two connections is lost at once") {
  for (const auto channel : {Channel::kTcpControl, Channel::kTcpData}) {
    auto listeners = open_listeners(2, "tcp");
    const auto addresses = addresses_of(listeners);
    Status outcome;
    std::thread zero([&] { outcome = listeners[0].connect(options_for(0, addresses, 600)).status(); });
    {
      const auto dying = call(addresses[0], channel, 1, Greeting::Progress::kProven).take_socket();
    }
    zero.join();
    CHECK(outcome.code() == Code::kPeerLost);
    CHECK(outcome.rank() == 1);
  }
}
