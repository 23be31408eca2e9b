// Who gets the blame for a time-out, view by view.
#include <doctest/doctest.h>

#include <string>  // for to_string
#include <vector>  // for vector

#include "ring/transport/blame.h"

namespace {

using namespace ring;
using namespace ring::transport;

const std::vector<std::string> kHosts{"host0", "host1", "host2"};

Status timeout_of(int rank) {
  return {Code::kCollectiveTimeout, "waited for rank " + std::to_string(rank), rank, "host"};
}

TEST_CASE("a rank that is blamed while it waits itself names the one it waits for") {
  CHECK(own_view(timeout_of(0), 0, 2, kHosts).rank() == 2);
  CHECK(own_view(timeout_of(0), 0, 2, kHosts).host() == "host2");
  CHECK(own_view(timeout_of(0), 0, -1, kHosts).rank() == 0);  // it was not waiting: the blame is right
  CHECK(own_view(timeout_of(1), 0, 2, kHosts).rank() == 1);   // another one is blamed
  const Status lost(Code::kPeerLost, "lost", 0);
  CHECK(own_view(lost, 0, 2, kHosts).code() == Code::kPeerLost);
}

TEST_CASE("blame is followed from view to view up to the rank that does not answer") {
  const Views views{{1, timeout_of(2)}, {2, timeout_of(3)}};
  const auto verdict = resolve(timeout_of(1), views);
  CHECK(verdict.cause.rank() == 3);
  CHECK_FALSE(verdict.settled);
}

TEST_CASE("who takes the blame ends the search") {
  const auto verdict = resolve(timeout_of(1), {{1, timeout_of(2)}, {2, timeout_of(2)}});
  CHECK(verdict.cause.rank() == 2);
  CHECK(verdict.settled);
}

TEST_CASE("a cause that is no time-out ends the search, wherever it is found") {
  const Status lost(Code::kPeerLost, "lost", 2);
  CHECK(resolve(lost, {}).settled);
  const auto verdict = resolve(timeout_of(1), {{1, timeout_of(2)}, {2, lost}});
  CHECK(verdict.cause.code() == Code::kPeerLost);
  CHECK(verdict.settled);
  const Status raised(Code::kAborted, "ValueError", 1);
  CHECK(resolve(timeout_of(1), {{1, raised}}).cause.message() == "ValueError");
}

TEST_CASE("ranks that blame each other in a circle are told the same, wherever they start") {
  const Views views{{0, timeout_of(1)}, {1, timeout_of(2)}, {2, timeout_of(1)}};
  for (int start = 0; start < 3; ++start) {
    const auto verdict = resolve(views.at(start), views);
    CHECK(verdict.cause.rank() == 2);
    CHECK(verdict.settled);
  }
}

}  // namespace
