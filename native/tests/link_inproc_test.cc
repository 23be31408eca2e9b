#include "ring/transport/inproc/group.h"
#include "suites/link_suite.h"

namespace {

ring::testing::LinkKind inproc() {
  const auto meshes = [](std::size_t ring_bytes) {
    return [ring_bytes](int size) { return ring::transport::inproc_meshes(size, ring_bytes).value(); };
  };
  return {meshes(ring::transport::kInprocRingBytes), meshes(64), 100'000, std::size_t{32} << 10};
}

}  // namespace

RING_LINK_SUITE("inproc", inproc)

TEST_CASE("inproc: sizes that cannot be are refused") {
  CHECK(ring::transport::inproc_meshes(0).status().code() == ring::Code::kInvalidArgument);
  CHECK(ring::transport::inproc_meshes(2, 100).status().code() == ring::Code::kInvalidArgument);
  CHECK(ring::transport::inproc_meshes(1).value().front().links.size() == 1);
}
