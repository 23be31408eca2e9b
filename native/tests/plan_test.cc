// Plans are pure: parts, and who passes a broadcast on to whom.
#include <doctest/doctest.h>

#include <set>     // for set
#include <vector>  // for vector

#include "ring/plan/parts.h"
#include "ring/plan/spreading.h"
#include "ring/plan/topology.h"

namespace {

using namespace ring::plan;

TEST_CASE("parts are even, larger first, without gaps") {
  CHECK(even_parts(7, 3) == Parts{{0, 3}, {3, 2}, {5, 2}});
  CHECK(even_parts(2, 4) == Parts{{0, 1}, {1, 1}, {2, 0}, {2, 0}});
  CHECK(even_parts(0, 2) == Parts{{0, 0}, {0, 0}});
  CHECK(parts_of({0, 5, 2}) == Parts{{0, 0}, {0, 5}, {5, 2}});
  CHECK(total(parts_of({0, 5, 2})) == 7);
  CHECK(largest(parts_of({0, 5, 2})) == 5);
}

TEST_CASE("offsets are 64 bits wide: 2^33 + 3 elements") {
  const std::uint64_t count = (std::uint64_t{1} << 33) + 3;
  const auto parts = even_parts(count, 4);
  CHECK(parts[0].count == (std::uint64_t{1} << 31) + 1);
  CHECK(parts[3].offset == count - (std::uint64_t{1} << 31));
  CHECK(total(parts) == count);
}

bool linked(int one, int other, int size) {
  const auto others = neighbours(one, size);
  return std::set<int>(others.begin(), others.end()).count(other) == 1;
}

TEST_CASE("a broadcast reaches every member once, from any root, over links that there are") {
  for (int size = 1; size <= 20; ++size) {
    for (int root = 0; root < size; ++root) {
      for (const auto way : {Spreading::kDirect, Spreading::kChain, Spreading::kTree}) {
        if (way == Spreading::kDirect && size > kMostPairs) continue;
        std::vector<int> reached{root};
        bool all_linked = true;
        bool agreed = broadcast_step(way, root, size, root).parent == -1;
        for (std::size_t i = 0; i < reached.size(); ++i) {
          const auto step = broadcast_step(way, reached[i], size, root);
          for (int k = 0; k < step.num_children; ++k) {
            const int child = step.children[static_cast<std::size_t>(k)];
            agreed = agreed && broadcast_step(way, child, size, root).parent == reached[i];
            all_linked = all_linked && linked(reached[i], child, size);
            reached.push_back(child);
          }
        }
        CHECK(agreed);
        CHECK(all_linked);
        CHECK(reached.size() == static_cast<std::size_t>(size));
        CHECK(std::set<int>(reached.begin(), reached.end()).size() == reached.size());
      }
    }
  }
}

TEST_CASE("steps print") {
  CHECK(to_string(broadcast_step(Spreading::kDirect, 0, 3, 0)) == "root, pass on to 1, pass on to 2\n");
  CHECK(to_string(broadcast_step(Spreading::kChain, 3, 4, 1)) == "receive from 2, pass on to 0\n");
}

}  // namespace
