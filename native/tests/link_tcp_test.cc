#include "meet.h"
#include "suites/link_suite.h"

namespace {

ring::testing::LinkKind tcp() {
  using ring::testing::met_meshes;
  const auto normal = [](int size) { return met_meshes(size, "tcp"); };
  const auto tight = [](int size) {
    ring::transport::tcp::TcpOptions small;
    small.socket_buffer_bytes = 4096;
    return met_meshes(size, "tcp", [](int, auto&) {}, small);
  };
  return {normal, tight, 20'000, std::size_t{64} << 10};  // the kernel paces tiny loopback windows by timers
}

}  // namespace

RING_LINK_SUITE("tcp", tcp)
