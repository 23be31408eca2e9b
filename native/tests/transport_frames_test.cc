// Frames of the control connection, in pieces, cut short and made of nonsense.
#include <doctest/doctest.h>

#include <algorithm>  // for min
#include <random>     // for mt19937
#include <string>     // for string
#include <vector>     // for vector

#include "ring/transport/frames.h"

namespace {

using namespace ring::transport;
using ring::Bytes;
using ring::Code;
using ring::Status;

const Status kCause(Code::kMismatch, "rank 2 wants a sum, rank 3 a mean", 2, "node-b");

void push(FrameReader& reader, const std::string& text) {
  reader.push(Bytes(text.data(), text.size()));
}

// All frames of `wire`, given in pieces of random sizes.
std::vector<Frame> read_in_pieces(const std::string& wire, std::mt19937& random) {
  FrameReader reader;
  std::vector<Frame> frames;
  for (std::size_t at = 0; at < wire.size();) {
    const std::size_t piece = std::min<std::size_t>(wire.size() - at, 1 + random() % 7);
    push(reader, wire.substr(at, piece));
    at += piece;
    while (true) {
      auto next = reader.next();
      REQUIRE(next);
      if (!next.value()) break;
      frames.push_back(*next.value());
    }
  }
  CHECK_FALSE(reader.mid_frame());
  return frames;
}

}  // namespace

TEST_CASE("frames come back whole from pieces of any size") {
  std::mt19937 random(1);
  const std::string wire =
      encode_left(7) + encode_abort(5, kCause) + encode_left(300) + encode_word(FrameKind::kBye);
  for (int round = 0; round < 200; ++round) {
    const auto frames = read_in_pieces(wire, random);
    REQUIRE(frames.size() == 4);
    CHECK(frames[0].kind == FrameKind::kLeft);
    CHECK(frames[0].origin == 7);
    CHECK(frames[1].origin == 5);
    CHECK(frames[2].origin == 300);
    CHECK(frames[3].kind == FrameKind::kBye);
    const Status& cause = frames[1].cause;
    CHECK(cause.code() == kCause.code());
    CHECK(cause.message() == kCause.message());
    CHECK(cause.rank() == 2);
    CHECK(cause.host() == "node-b");
  }
}

TEST_CASE("a cut frame stays unfinished and is no frame") {
  const std::string wire = encode_abort(5, kCause);
  for (std::size_t kept = 1; kept < wire.size(); ++kept) {
    FrameReader reader;
    push(reader, wire.substr(0, kept));
    const auto next = reader.next();
    REQUIRE(next);
    CHECK_FALSE(next.value());
    CHECK(reader.mid_frame());
  }
}

TEST_CASE("the ranks that are missing are named one by one, up to a bound") {
  for (const int count : {0, 1, 3, 256, 1000}) {
    std::vector<int> missing;
    for (int rank = 0; rank < count; ++rank) missing.push_back(3 * rank);
    FrameReader reader;
    push(reader, encode_abort(5, kCause.with_missing(missing)));
    const auto next = reader.next();
    REQUIRE(next);
    REQUIRE(next.value());
    if (missing.size() > kMaxAbortMissing) missing.resize(kMaxAbortMissing);
    CHECK(next.value()->cause.missing() == missing);
  }
}

TEST_CASE("long messages and causes are cut to the bound") {
  const Status inner(Code::kSystem, std::string(5000, 'y'));
  const Status outer = Status(Code::kAborted, "outer", 1, std::string(1000, 'h')).because(inner);
  const std::string wire = encode_abort(5, outer);
  CHECK(wire.size() <= 5 + kMaxAbortBody);
  FrameReader reader;
  push(reader, wire);
  const auto next = reader.next();
  REQUIRE(next);
  REQUIRE(next.value());
  CHECK(next.value()->cause.message().size() == kMaxAbortMessage);
  CHECK(next.value()->cause.message().find("because: yyy") != std::string::npos);
  CHECK(next.value()->cause.host().size() == kMaxAbortHost);
}

TEST_CASE("nonsense is refused and never read out of bounds") {
  std::mt19937 random(2);
  for (int round = 0; round < 20000; ++round) {
    std::string wire = round % 2 == 0 ? encode_abort(5, kCause) : std::string(1 + random() % 64, '\0');
    const std::size_t flips = 1 + random() % 4;
    for (std::size_t i = 0; i < flips; ++i) wire[random() % wire.size()] = static_cast<char>(random());
    wire.resize(random() % (wire.size() + 1));
    FrameReader reader;
    push(reader, wire);
    while (true) {
      const auto next = reader.next();
      if (!next || !next.value()) break;
    }
  }
  FrameReader reader;
  push(reader, std::string("\x03\xff\xff\xff\xff", 5));
  CHECK(reader.next().status().code() == Code::kMismatch);
}

TEST_CASE("an unknown code counts as an abort") {
  std::string wire = encode_abort(5, kCause);
  wire[13] = '\x7f';  // kind, length, origin, rank, then the code
  FrameReader reader;
  push(reader, wire);
  const auto next = reader.next();
  REQUIRE(next);
  REQUIRE(next.value());
  CHECK(next.value()->cause.code() == Code::kAborted);
}
