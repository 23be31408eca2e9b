// Strangers at the door while the ranks meet: nobody they can disturb, nothing they can learn.
#include <doctest/doctest.h>

#include <thread>  // for thread
#include <vector>  // for vector

#include "meet.h"
#include "ring/transport/handshake/hello.h"
#include "stranger.h"

namespace {

using namespace ring::testing;
using ring::Code;
using ring::UniqueFd;

// All ranks meet while the given sockets stay open.
void all_meet(std::vector<Listener>& listeners, double stranger_timeout_s = 5) {
  const auto start = std::chrono::steady_clock::now();
  for (const auto& outcome : meet_all(listeners, 30, [&](int, ConnectOptions& options) {
         options.stranger_timeout_s = stranger_timeout_s;
       })) {
    CHECK_MESSAGE(outcome, outcome.status().message());
  }
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
}

}  // namespace

TEST_CASE("silent strangers keep nobody waiting") {
  auto listeners = open_listeners(3, "auto");
  std::vector<UniqueFd> strangers;
  for (int i = 0; i < 20; ++i) strangers.push_back(knock(listeners[0].address()));
  all_meet(listeners);
}

TEST_CASE("a silent stranger is shown out and counted while a rank is awaited") {
  auto listeners = open_listeners(2, "tcp");
  const auto addresses = addresses_of(listeners);
  const UniqueFd stranger = knock(addresses[0]);
  auto options = options_for(0, addresses, 1.0);
  options.stranger_timeout_s = 0.1;
  const auto outcome = listeners[0].connect(options).status();
  CHECK(outcome.code() == Code::kRendezvousTimeout);
  CHECK(outcome.message().find("1 silent") != std::string::npos);
  CHECK(listeners[0].refusals().silent == 1);
  CHECK(hear_out(stranger) == 0);  // whoever says nothing hears nothing
}

TEST_CASE("garbage, half a hello and scanners that hang up disturb nobody") {
  auto listeners = open_listeners(3, "tcp");
  const auto address = listeners[0].address();
  std::vector<UniqueFd> strangers;
  for (const std::string& words :
       {std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), std::string(4000, '\xff'), std::string(1, '\0'),
        ring::transport::encode_hello({}).substr(0, 50),
        ring::transport::encode_hello({}) + std::string(32, 'p')}) {
    strangers.push_back(knock(address));
    say(strangers.back(), words);
  }
  for (int i = 0; i < 5; ++i) (void)knock(address);  // connects and hangs up
  all_meet(listeners);
  CHECK(listeners[0].refusals().total() > 0);
}

TEST_CASE("a stranger that copies a hello learns one nonce and no proof") {
  auto listeners = open_listeners(2, "tcp");
  const auto addresses = addresses_of(listeners);
  const UniqueFd stranger = knock(addresses[0]);
  say(stranger, ring::transport::encode_hello({}) + std::string(32, 'p'));
  auto options = options_for(0, addresses, 0.5);
  CHECK(listeners[0].connect(options).status().code() == Code::kRendezvousTimeout);
  CHECK(hear_out(stranger) == ring::transport::kHelloBytes);
  CHECK(listeners[0].refusals().unproven == 1);
}

TEST_CASE("more strangers than places: the ranks still get in") {
  auto listeners = open_listeners(2, "tcp");
  std::vector<UniqueFd> strangers;
  for (int i = 0; i < 400; ++i) strangers.push_back(knock(listeners[0].address()));
  all_meet(listeners);
  CHECK(listeners[0].refusals().surplus > 0);
}
