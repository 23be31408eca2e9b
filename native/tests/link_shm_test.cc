#include "meet.h"
#include "suites/link_suite.h"

namespace {

ring::testing::LinkKind shm() {
  using ring::testing::met_meshes;
  const auto normal = [](int size) { return met_meshes(size, "shm"); };
  const auto tight = [](int size) {
    return met_meshes(size, "shm", [](int, auto& options) { options.ring_bytes = 4096; });
  };
  return {normal, tight};
}

}  // namespace

RING_LINK_SUITE("shm", shm)
