// Meetings with TLS: what a wire shows of them, and who is refused.
#include <doctest/doctest.h>

#include <string>  // for string
#include <vector>  // for vector

#include "meet.h"
#include "relay.h"
#include "ring/transport/frames.h"

namespace {

using namespace ring::testing;
using ring::Bytes;
using ring::Code;
using ring::Deadline;
using ring::MutableBytes;
using ring::transport::Address;
using ring::transport::tcp::TcpOptions;

const std::string kWords = "gradients of the last layer";
const std::string kCause = "ValueError: bad row 7";

std::vector<Listener> listeners_with(bool first, bool second) {
  std::vector<Listener> listeners;
  for (const bool tls : {first, second}) {
    TcpOptions tcp;
    tcp.tls = tls;
    listeners.push_back(std::move(open_listeners(1, "tcp", "127.0.0.1", tcp).front()));
  }
  return listeners;
}

std::string changed(const std::string& blob, const std::function<void(Address&)>& change) {
  auto address = ring::transport::parse_address(Bytes(blob.data(), blob.size()));
  REQUIRE(address);
  change(address.value());
  return ring::transport::encode_address(address.value());
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

ring::Status failure_on(ring::transport::Lifeline& line) {
  const Deadline deadline = Deadline::after(30);
  while (line.check().is_ok() && !deadline.passed()) {
    std::vector<pollfd> fds;
    line.watch(fds);
    ::poll(fds.data(), fds.size(), deadline.poll_ms(1000));
  }
  return line.check();
}

// All that two ranks send each other while they meet, exchange words and give up.
std::string tapped(bool tls) {
  auto listeners = listeners_with(tls, tls);
  const std::string first = listeners[0].address();
  const auto port = ring::transport::parse_address(Bytes(first.data(), first.size())).value().port;
  Relay relay(port);
  auto outcomes = meet_all(listeners, 30, [&](int rank, ConnectOptions& options) {
    if (rank == 1) options.addresses[0] = changed(first, [&](Address& a) { a.port = relay.port(); });
  });
  REQUIRE_MESSAGE(outcomes[0], outcomes[0].status().report());
  REQUIRE_MESSAGE(outcomes[1], outcomes[1].status().report());
  Mesh low = std::move(outcomes[0]).value();
  Mesh high = std::move(outcomes[1]).value();
  REQUIRE(high.links[0]->send_some(Bytes(kWords.data(), kWords.size())).value() == kWords.size());
  std::string got(kWords.size(), ' ');
  REQUIRE(wait_any(low, {{1, ring::transport::kCanRecv}}, -1, Deadline::after(30)).value());
  REQUIRE(low.links[1]->recv_some(MutableBytes(got.data(), got.size())).value() == got.size());
  CHECK(got == kWords);
  low.lifelines[1]->send(ring::transport::encode_abort(0, {Code::kAborted, kCause, 0}));
  const auto heard = failure_on(*high.lifelines[0]);
  CHECK(heard.code() == Code::kAborted);
  CHECK(holds(heard.message(), kCause));
  return relay.stop();
}

}  // namespace

TEST_CASE("without tls a wire shows data and words, with it neither") {
  const std::string plain = tapped(false);
  CHECK(holds(plain, kWords));
  CHECK(holds(plain, kCause));
  const std::string secured = tapped(true);
  CHECK(secured.size() > plain.size());
  CHECK_FALSE(holds(secured, kWords));
  CHECK_FALSE(holds(secured, kCause));
}

TEST_CASE("tls on one rank alone is refused by both, before they connect") {
  auto listeners = listeners_with(true, false);
  for (const auto& outcome : meet_all(listeners)) {
    CHECK(outcome.status().code() == Code::kRendezvous);
    CHECK(outcome.status().rank() == 1);
    CHECK(holds(outcome.status().message(), "comm.tls is off here and on on rank 0"));
  }
  CHECK(listeners[0].refusals().total() == 0);
}

TEST_CASE("tls on one rank alone is refused by both, whatever the addresses say") {
  for (const bool first : {true, false}) {
    auto listeners = listeners_with(first, !first);
    const auto outcomes = meet_all(listeners, 30, [&](int rank, ConnectOptions& options) {
      const bool own = rank == 0 ? first : !first;
      auto& other = options.addresses[rank == 0 ? 1 : 0];
      other = changed(other, [&](Address& a) { a.tls = own; });
    });
    for (const int rank : {0, 1}) {
      const bool on = (rank == 0) == first;
      const auto& outcome = outcomes[static_cast<std::size_t>(rank)].status();
      CHECK(outcome.code() == Code::kRendezvous);
      CHECK(outcome.rank() == 1 - rank);
      CHECK(
          holds(outcome.message(), on ? "has comm.tls off, this rank on" : "has comm.tls on, this rank off"));
    }
  }
}

TEST_CASE("tls does not let in who lacks the secret") {
  auto listeners = listeners_with(true, true);
  const auto outcomes = meet_all(listeners, 2, [](int rank, ConnectOptions& options) {
    if (rank == 1) options.secret = std::string(32, 'x');
  });
  CHECK(outcomes[0].status().code() == Code::kRendezvousTimeout);
  CHECK(outcomes[1].status().code() == Code::kRendezvous);
  CHECK(listeners[0].refusals().unproven > 0);
}

TEST_CASE("ranks of one host and of others meet under tls") {
  std::vector<Listener> listeners;
  for (const char* machine : {"a", "a", "b"}) {
    ListenOptions options("127.0.0.1", "auto", machine);
    options.tcp.tls = true;
    options.tcp.streams = 2;
    listeners.push_back(Listener::open(options).value());
  }
  for (auto& outcome : meet_all(listeners)) {
    REQUIRE_MESSAGE(outcome, outcome.status().report());
    const bool shares = outcome.value().rank < 2;
    CHECK((outcome.value().segment != nullptr) == shares);
  }
}
