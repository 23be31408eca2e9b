// Many ranks: what each holds does not grow with their number, and setting them up does not take long.
#include <doctest/doctest.h>

#include <algorithm>  // for count_if
#include <chrono>     // for steady_clock
#include <thread>     // for thread
#include <vector>     // for vector

#include "group.h"
#include "held.h"
#include "meet.h"
#include "suites/collectives.h"

namespace {

using namespace ring;
using namespace ring::testing;
using Clock = std::chrono::steady_clock;

template <typename Ends>
std::ptrdiff_t count_present(const Ends& ends) {
  return std::count_if(ends.begin(), ends.end(), [](const auto& end) { return end != nullptr; });
}

bool sums_are_right(Group& group, std::size_t count) {
  const int size = static_cast<int>(group.size());
  std::vector<std::vector<float>> data(group.size(), std::vector<float>(count, 1));
  const auto outcomes = on_all(group, [&](Communicator& c) {
    auto* bytes = reinterpret_cast<std::byte*>(data[static_cast<std::size_t>(c.rank())].data());
    return c.allreduce({bytes, bytes, DType::kFloat32, ReduceOp::kSum}, count, {kPatience});
  });
  bool right = all_ok(outcomes);
  for (const auto& values : data)
    right = right && values == std::vector<float>(count, static_cast<float>(size));
  return right;
}

}  // namespace

TEST_CASE("connections and sockets of each rank are bounded, and the ring works") {
  for (const int size : {8, 16, 32}) {
    CAPTURE(size);
    const std::ptrdiff_t most = size <= plan::kMostPairs ? size - 1 : 5;
    const Held before = held();
    auto meshes = met_meshes(size, "tcp");
    for (const auto& mesh : meshes) {
      CHECK(count_present(mesh.links) <= most);
      CHECK(count_present(mesh.lifelines) <= most);
    }
    const auto sockets = held().descriptors - before.descriptors;
    CHECK(sockets <= size * (2 * most + 1));  // words and data, and the port for more links
    MESSAGE(size << " ranks over tcp hold " << sockets << " sockets");
    if (size > 16) continue;
    auto group = start_group(std::move(meshes));
    CHECK(sums_are_right(group, 1));
    CHECK(sums_are_right(group, 40'011));
    check_broadcast(group, DType::kInt64, size - 1, 1000);
    check_allgather(group, DType::kInt32, uneven_counts(size, 10), false);
    const auto working = held().descriptors - before.descriptors;
    CHECK(working <= size * (2 * most + 3));  // and two to wake it
  }
}

TEST_CASE("sixty-four ranks in one process are set up and reduce") {
  const auto start = Clock::now();
  auto group = inproc_group(64);
  const auto ready = Clock::now();
  CHECK(sums_are_right(group, 1));
  const auto used = Clock::now();
  const auto ms = [](auto span) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(span).count();
  };
  MESSAGE("64 ranks: set up in " << ms(ready - start) << " ms, first allreduce " << ms(used - ready)
                                 << " ms");
  group.clear();
  MESSAGE("closed in " << ms(Clock::now() - used) << " ms");
}
