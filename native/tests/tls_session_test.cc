// TLS between two ends in one process: the right key, a wrong one, no TLS, a cut, a flipped bit.
#include <doctest/doctest.h>
#include <poll.h>        // for poll
#include <sys/socket.h>  // for socketpair, recv, send

#include <algorithm>  // for search
#include <memory>     // for unique_ptr
#include <string>     // for string
#include <utility>    // for move
#include <vector>     // for vector

#include "ring/base/unique_fd.h"
#include "ring/transport/tls/session.h"

namespace {

using namespace ring::transport::tls;
using ring::Bytes;
using ring::Code;
using ring::Digest;
using ring::MutableBytes;
using ring::UniqueFd;
using ring::transport::Flow;
using Progress = Session::Progress;

struct Pair {
  UniqueFd left;
  UniqueFd right;
};

Pair connected() {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Digest key_of(std::uint8_t seed) {
  Digest key;
  key.fill(static_cast<decltype(key)::value_type>(seed));
  return key;
}

std::unique_ptr<Session> session(Side side, const UniqueFd& socket, std::uint8_t seed = 1) {
  auto made = Session::create(side, socket.get(), key_of(seed));
  REQUIRE_MESSAGE(made, made.status().message());
  return std::move(made).value();
}

// Both ends by turns, until neither is pending; what they came to.
std::pair<Progress, Progress> shake(Session& a, Session& b) {
  Progress first = Progress::kPending;
  Progress second = Progress::kPending;
  for (int i = 0; i < 20; ++i) {
    if (first == Progress::kPending) first = a.handshake();
    if (second == Progress::kPending) second = b.handshake();
  }
  return {first, second};
}

// Moves bytes from one socket to another and returns them; `change` is XORed into the last of them.
std::string relay(const UniqueFd& from, const UniqueFd& to, char change = 0) {
  std::string seen;
  char piece[65536];
  ssize_t got = 0;
  while ((got = ::recv(from.get(), piece, sizeof piece, MSG_DONTWAIT)) > 0) {
    seen.append(piece, static_cast<std::size_t>(got));
  }
  if (!seen.empty()) seen.back() = static_cast<char>(seen.back() ^ change);
  if (!seen.empty()) REQUIRE(::send(to.get(), seen.data(), seen.size(), MSG_NOSIGNAL) > 0);
  return seen;
}

// Two sessions with a relay between them that sees everything.
struct Tapped {
  Pair near = connected();
  Pair far = connected();
  std::unique_ptr<Session> a = session(Side::kConnector, near.left);
  std::unique_ptr<Session> b = session(Side::kAcceptor, far.right);
  std::string seen;

  void shake_hands() {
    Progress first = Progress::kPending;
    Progress second = Progress::kPending;
    for (int i = 0; i < 10; ++i) {
      if (first == Progress::kPending) first = a->handshake();
      seen += relay(near.right, far.left);
      if (second == Progress::kPending) second = b->handshake();
      seen += relay(far.left, near.right);
    }
    REQUIRE(first == Progress::kDone);
    REQUIRE(second == Progress::kDone);
  }
};

}  // namespace

TEST_CASE("tls carries bytes both ways, in order and whole") {
  const Pair sockets = connected();
  const auto a = session(Side::kConnector, sockets.left);
  const auto b = session(Side::kAcceptor, sockets.right);
  CHECK(shake(*a, *b) == std::pair(Progress::kDone, Progress::kDone));
  std::string sent(300'000, '\0');
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i * 7 + i / 251);
  for (const auto& [from, to] : {std::pair(a.get(), b.get()), std::pair(b.get(), a.get())}) {
    std::string got(sent.size(), '\0');
    std::size_t out = 0;
    std::size_t in = 0;
    for (int turn = 0; in < got.size() && turn < 10'000; ++turn) {
      out += from->send_some(Bytes(sent.data(), sent.size()).from(out)).bytes;
      const auto moved = to->recv_some(MutableBytes(got.data(), got.size()).from(in));
      REQUIRE((moved.flow == Flow::kMoved || moved.flow == Flow::kBlocked));
      in += moved.bytes;
    }
    CHECK(got == sent);
    CHECK(to->recv_some(MutableBytes(got.data(), 1)).flow == Flow::kBlocked);
    CHECK(to->drained());
  }
}

TEST_CASE("tls: what is on the wire is not the plain text") {
  Tapped link;
  link.shake_hands();
  const std::string text = "gradients that nobody else may read";
  REQUIRE(link.a->send_some(Bytes(text.data(), text.size())).bytes == text.size());
  const std::string wire = relay(link.near.right, link.far.left);
  CHECK(wire.size() > text.size());
  CHECK(wire.find(text) == std::string::npos);
  CHECK(wire.find("gradients") == std::string::npos);
  std::string got(text.size(), '\0');
  CHECK(link.b->recv_some(MutableBytes(got.data(), got.size())).bytes == text.size());
  CHECK(got == text);
}

TEST_CASE("tls: a flipped bit is a broken stream, not other data") {
  Tapped link;
  link.shake_hands();
  REQUIRE(link.a->send_some(Bytes("sum", 3)).bytes == 3);
  relay(link.near.right, link.far.left, 1);
  char got[8];
  CHECK(link.b->recv_some(MutableBytes(got, sizeof got)).flow == Flow::kBroken);
  CHECK(link.b->trouble().find("TLS") != std::string::npos);
}

TEST_CASE("tls: a cut in the middle of a record delivers nothing of it") {
  Tapped link;
  link.shake_hands();
  const std::string text(5000, 'x');
  REQUIRE(link.a->send_some(Bytes(text.data(), text.size())).bytes == text.size());
  char piece[1000];
  REQUIRE(::recv(link.near.right.get(), piece, sizeof piece, 0) == sizeof piece);
  REQUIRE(::send(link.far.left.get(), piece, sizeof piece, MSG_NOSIGNAL) == sizeof piece);
  link.far.left.reset();
  char got[5000];
  CHECK(link.b->recv_some(MutableBytes(got, sizeof got)).flow == Flow::kEnded);
}

TEST_CASE("tls: another key is refused on both ends") {
  const Pair sockets = connected();
  const auto a = session(Side::kConnector, sockets.left, 1);
  const auto b = session(Side::kAcceptor, sockets.right, 2);
  const auto [first, second] = shake(*a, *b);
  CHECK(first == Progress::kFailed);
  CHECK(second == Progress::kFailed);
  CHECK_FALSE(a->trouble().empty());
  CHECK_FALSE(b->trouble().empty());
}

TEST_CASE("tls: a peer that speaks plainly is refused") {
  for (const Side side : {Side::kConnector, Side::kAcceptor}) {
    const Pair sockets = connected();
    const auto mine = session(side, sockets.left);
    CHECK(mine->handshake() == Progress::kPending);
    REQUIRE(::send(sockets.right.get(), "plain words, and enough of them", 31, MSG_NOSIGNAL) == 31);
    CHECK(mine->handshake() == Progress::kFailed);
    CHECK(mine->trouble().find("TLS") != std::string::npos);
  }
}

TEST_CASE("tls: a peer that goes away ends the handshake") {
  Pair sockets = connected();
  const auto mine = session(Side::kConnector, sockets.left);
  CHECK(mine->handshake() == Progress::kPending);
  sockets.right.reset();
  CHECK(mine->handshake() == Progress::kFailed);
  CHECK(mine->trouble().find("closed") != std::string::npos);
}

TEST_CASE("tls: a library that is not there is named with what to install") {
  const auto absent = open_openssl("libssl.so.no-such");
  CHECK(absent.status().code() == Code::kMissingLibrary);
  CHECK(absent.status().message().find("libssl3") != std::string::npos);
  const auto other = open_openssl("libc.so.6");
  CHECK(other.status().message().find("has no function") != std::string::npos);
}
