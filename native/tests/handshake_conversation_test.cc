// The mutual challenge as a pure machine: who gets in, who does not, and what each end gives away.
#include <doctest/doctest.h>

#include <algorithm>  // for min
#include <random>     // for mt19937
#include <string>     // for string
#include <vector>     // for vector

#include "ring/base/protocol.h"
#include "ring/transport/handshake/conversation.h"

namespace {

using namespace ring::transport;
using ring::Bytes;
using ring::Digest;
using State = Conversation::State;
using Verdict = Judgement::Verdict;

Digest filled(char with) {
  Digest digest{};
  digest.fill(static_cast<std::byte>(with));
  return digest;
}

Identity identity(int rank) {
  return {rank, 4, 7, filled('r'), filled('s'), false};
}

Conversation connect(const Identity& self, int target = 0, Channel channel = Channel::kTcpControl) {
  return Conversation::connecting(self, {target, channel, 5}).value();
}
Conversation accept(const Identity& self) {
  return Conversation::accepting(self).value();
}

// Gives `text` in pieces, never more than is wanted; what is left over is dropped.
void give(Conversation& to, const std::string& text, std::size_t piece = 1000) {
  for (std::size_t at = 0; at < text.size() && to.wanted() > 0;) {
    const std::size_t count = std::min({text.size() - at, piece, to.wanted()});
    to.take(Bytes(text.data() + at, count));
    at += count;
  }
}

void talk(Conversation& a, Conversation& b, std::size_t piece = 1000) {
  for (int turn = 0; turn < 4; ++turn) {
    give(b, a.take_output(), piece);
    give(a, b.take_output(), piece);
  }
}

}  // namespace

TEST_CASE("two ranks with one secret prove themselves to each other") {
  for (const std::size_t piece : {1, 7, 1000}) {
    auto connector = connect(identity(3), 1, Channel::kUnixControl);
    auto acceptor = accept(identity(1));
    talk(connector, acceptor, piece);
    REQUIRE(connector.state() == State::kProven);
    REQUIRE(acceptor.state() == State::kProven);
    CHECK(acceptor.peer().rank == 3);
    CHECK(acceptor.peer().channel == Channel::kUnixControl);
    CHECK(connector.peer().rank == 1);
    CHECK(connector.wanted() == 0);
    CHECK(judge(identity(1), acceptor.peer(), -1, "h").verdict == Verdict::kWelcome);
    CHECK(judge(identity(3), connector.peer(), 1, "h").verdict == Verdict::kWelcome);
  }
}

TEST_CASE("a wrong secret is refused, and the acceptor proves nothing to it") {
  Identity stranger = identity(3);
  stranger.secret = filled('x');
  auto connector = connect(stranger);
  auto acceptor = accept(identity(0));
  give(acceptor, connector.take_output());
  give(connector, acceptor.take_output());
  give(acceptor, connector.take_output());
  CHECK(acceptor.state() == State::kRefused);
  CHECK(acceptor.take_output().empty());
  CHECK(connector.state() == State::kTalking);
}

TEST_CASE("an acceptor with a wrong secret is refused") {
  Identity stranger = identity(0);
  stranger.secret = filled('x');
  auto connector = connect(identity(3));
  auto acceptor = accept(stranger);
  talk(connector, acceptor);
  CHECK(acceptor.state() == State::kRefused);
  give(connector, std::string(sizeof(Digest), 'p'));
  CHECK(connector.state() == State::kRefused);
}

TEST_CASE("what was said to one is worth nothing to another: no replay") {
  auto connector = connect(identity(3));
  auto acceptor = accept(identity(0));
  const std::string hello = connector.take_output();
  give(acceptor, hello);
  give(connector, acceptor.take_output());
  const std::string proof = connector.take_output();
  auto later = accept(identity(0));
  give(later, hello);
  (void)later.take_output();
  give(later, proof);
  CHECK(later.state() == State::kRefused);
}

TEST_CASE("each connection has a key of its own, the same on both ends") {
  std::vector<Digest> keys;
  for (int round = 0; round < 2; ++round) {
    auto connector = connect(identity(3));
    auto acceptor = accept(identity(0));
    for (int i = 0; i < 2; ++i) {
      give(acceptor, connector.take_output());
      give(connector, acceptor.take_output());
    }
    REQUIRE(connector.state() == State::kProven);
    REQUIRE(acceptor.state() == State::kProven);
    CHECK(connector.connection_key() == acceptor.connection_key());
    keys.push_back(connector.connection_key());
  }
  CHECK(keys[0] != keys[1]);
}

TEST_CASE("an end that hears only its own words is refused: no reflection") {
  auto connector = connect(identity(3));
  give(connector, connector.take_output());
  give(connector, connector.take_output());
  CHECK(connector.state() == State::kRefused);
}

TEST_CASE("any change of any byte on the way is noticed") {
  for (std::size_t at = 0; at < kHelloBytes; ++at) {
    auto connector = connect(identity(3));
    auto acceptor = accept(identity(0));
    std::string hello = connector.take_output();
    hello[at] = static_cast<char>(hello[at] ^ 1);
    give(acceptor, hello);
    give(connector, acceptor.take_output());
    give(acceptor, connector.take_output());
    CHECK(acceptor.state() == State::kRefused);
  }
}

TEST_CASE("garbage and truncations end in refusal or in waiting, never in proof") {
  std::mt19937 random(5);
  for (int round = 0; round < 2000; ++round) {
    auto acceptor = accept(identity(0));
    std::string noise(random() % 300, '\0');
    for (char& c : noise) c = static_cast<char>(random());
    give(acceptor, noise, 1 + random() % 50);
    CHECK(acceptor.state() != State::kProven);
    CHECK((acceptor.state() == State::kRefused) == (noise.size() >= kHelloBytes + sizeof(Digest)));
  }
}

TEST_CASE("a hello says which data connection it is, and whether tls is wanted") {
  for (const Channel first : {Channel::kTcpData, Channel::kMoreData}) {
    const auto channels = data_channels(first, kMaxStreams);
    for (int stream = 0; stream < kMaxStreams; ++stream) {
      Hello hello;
      hello.channel = channels[static_cast<std::size_t>(stream)];
      hello.tls = stream % 2 == 1;
      const std::string text = encode_hello(hello);
      Hello read;
      REQUIRE(decode_hello(Bytes(text.data(), text.size()), read));
      CHECK(first_of(read.channel) == first);
      CHECK(stream_of(read.channel) == stream);
      CHECK(read.tls == hello.tls);
      CHECK(read.role == Role::kConnector);
    }
  }
  Hello hello;
  for (const int channel : {0, 5, 0x11, 0x13, 0xf5}) {
    hello.channel = static_cast<Channel>(channel);
    const std::string text = encode_hello(hello);
    Hello read;
    CHECK_FALSE(decode_hello(Bytes(text.data(), text.size()), read));
  }
  CHECK(stream_of(Channel::kTcpControl) == -1);
  CHECK(stream_of(Channel::kUnixControl) == -1);
}

TEST_CASE("a proven peer is judged by what it claims") {
  const Identity self = identity(1);
  Hello peer{
      ring::kProtocolVersion, Role::kConnector, Channel::kTcpData, 7, 4, 3, 1, 5, filled('r'), {}, false};
  CHECK(judge(self, peer, -1, "").verdict == Verdict::kWelcome);
  const auto verdict_with = [&](auto change) {
    Hello changed = peer;
    change(changed);
    const auto judgement = judge(self, changed, -1, "node");
    CHECK((judgement.verdict == Verdict::kWelcome) == judgement.disagreement.is_ok());
    return judgement.verdict;
  };
  CHECK(verdict_with([](Hello& h) { h.version = 99; }) == Verdict::kDisagrees);
  CHECK(verdict_with([](Hello& h) { h.size = 5; }) == Verdict::kDisagrees);
  CHECK(verdict_with([](Hello& h) { h.tls = true; }) == Verdict::kDisagrees);
  CHECK(verdict_with([](Hello& h) { h.run = filled('q'); }) == Verdict::kOtherRun);
  CHECK(verdict_with([](Hello& h) { h.generation = 6; }) == Verdict::kOtherRun);
  CHECK(verdict_with([](Hello& h) { h.target = 2; }) == Verdict::kDisagrees);
  CHECK(verdict_with([](Hello& h) { h.rank = 1; }) == Verdict::kDisagrees);
  CHECK(verdict_with([](Hello& h) { h.rank = 4; }) == Verdict::kDisagrees);
  CHECK(verdict_with([](Hello& h) { h.rank = 0xffffffff; }) == Verdict::kDisagrees);
  const auto judgement = judge(self, peer, 2, "node");
  CHECK(judgement.verdict == Verdict::kDisagrees);
  CHECK(judgement.disagreement.rank() == 3);
  CHECK(judgement.disagreement.host() == "node");
}
