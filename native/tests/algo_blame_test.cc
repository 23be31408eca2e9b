// Who gets the blame for a time-out, rank by rank, without engines.
#include <doctest/doctest.h>

#include <string>  // for to_string
#include <vector>  // for vector

#include "ring/algo/blame.h"
#include "ring/backend/interrupt.h"
#include "ring/transport/inproc/group.h"

namespace {

using namespace ring;

std::vector<transport::Mesh> meshes_of(int size) {
  auto meshes = transport::inproc_meshes(size);
  REQUIRE(meshes);
  return std::move(meshes).value();
}

Status timeout_of(int rank) {
  return {Code::kCollectiveTimeout, "waited for rank " + std::to_string(rank), rank, "host"};
}

void tell(transport::Mesh& from, int to, const Status& cause) {
  from.links[static_cast<std::size_t>(to)]->send_abort(cause);
}

TEST_CASE("a rank that is blamed while it waits itself names the one it waits for") {
  auto meshes = meshes_of(3);
  CHECK(algo::own_view(meshes[0], timeout_of(0), 2).rank() == 2);
  CHECK(algo::own_view(meshes[0], timeout_of(0), -1).rank() == 0);  // it was not waiting: the blame is right
  CHECK(algo::own_view(meshes[0], timeout_of(1), 2).rank() == 1);   // another one is blamed
  const Status lost(Code::kPeerLost, "lost", 0);
  CHECK(algo::own_view(meshes[0], lost, 2).code() == Code::kPeerLost);
}

TEST_CASE("blame is followed from answer to answer up to the rank that does not answer") {
  auto meshes = meshes_of(4);
  backend::Interrupt interrupt;
  tell(meshes[1], 0, timeout_of(2));
  tell(meshes[2], 0, timeout_of(3));
  CHECK(algo::settle(meshes[0], timeout_of(1), interrupt).rank() == 3);
}

TEST_CASE("a dead rank behind a time-out is the cause") {
  auto meshes = meshes_of(3);
  backend::Interrupt interrupt;
  tell(meshes[1], 0, timeout_of(2));
  meshes[2].links.clear();
  const auto cause = algo::settle(meshes[0], timeout_of(1), interrupt);
  CHECK(cause.code() == Code::kPeerLost);
  CHECK(cause.rank() == 2);
}

TEST_CASE("ranks that blame each other in a circle end the search") {
  auto meshes = meshes_of(3);
  backend::Interrupt interrupt;
  tell(meshes[1], 0, timeout_of(2));
  tell(meshes[2], 0, timeout_of(1));
  const int rank = algo::settle(meshes[0], timeout_of(1), interrupt).rank();
  CHECK((rank == 1 || rank == 2));
}

TEST_CASE("a local abort cuts the grace short") {
  auto meshes = meshes_of(2);
  backend::Interrupt interrupt;
  interrupt.raise();
  CHECK(algo::settle(meshes[0], timeout_of(1), interrupt).rank() == 1);
}

}  // namespace
