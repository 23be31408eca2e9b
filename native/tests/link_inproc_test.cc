#include <numeric>  // for iota
#include <vector>   // for vector

#include "ring/transport/inproc/group.h"
#include "suites/link_suite.h"

namespace {

ring::testing::LinkKind inproc() {
  const auto meshes = [](std::size_t ring_bytes) {
    return [ring_bytes](int size) {
      std::vector<int> hosts(static_cast<std::size_t>(size));
      std::iota(hosts.begin(), hosts.end(), 0);
      return ring::transport::inproc_meshes(hosts, ring_bytes).value();
    };
  };
  return {meshes(ring::transport::kInprocRingBytes), meshes(64), 100'000, std::size_t{32} << 10};
}

}  // namespace

RING_LINK_SUITE("inproc", inproc)

TEST_CASE("inproc: sizes that cannot be are refused") {
  CHECK(ring::transport::inproc_meshes(0).status().code() == ring::Code::kInvalidArgument);
  CHECK(ring::transport::inproc_meshes({0, 1}, 100).status().code() == ring::Code::kInvalidArgument);
  CHECK(ring::transport::inproc_meshes(1).value().front().links.size() == 1);
}
