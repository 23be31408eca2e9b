// Plans are pure: played through here on sets of ranks instead of bytes.
#include <doctest/doctest.h>

#include <numeric>  // for accumulate
#include <set>      // for set
#include <vector>   // for vector

#include "ring/plan/barrier.h"
#include "ring/plan/broadcast.h"
#include "ring/plan/pairwise.h"
#include "ring/plan/parts.h"
#include "ring/plan/ring.h"

namespace {

using namespace ring::plan;

constexpr int kMostRanks = 9;
using Ranks = std::set<int>;

std::size_t at(int rank) {
  return static_cast<std::size_t>(rank);
}

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
  CHECK(total(parts) == count);
  const auto steps = ring_reducescatter(1, parts);
  CHECK(steps.back().recv == parts[1]);
  CHECK(steps.front().recv == Part{parts[3].offset, std::uint64_t{1} << 31});
  CHECK(parts[3].offset == count - (std::uint64_t{1} << 31));
  const auto blocks = pairwise_reducescatter(3, parts, std::uint64_t{1} << 30);
  CHECK(blocks.size() == 3);
  CHECK(blocks[1].own.offset == parts[3].offset + (std::uint64_t{1} << 30));
}

TEST_CASE("ring reducescatter folds every rank once into part r on rank r") {
  for (int size = 1; size <= kMostRanks; ++size) {
    const auto parts = even_parts(100, size);
    // held[r][p]: whose values rank r has folded for part p.
    std::vector<std::vector<Ranks>> held(at(size), std::vector<Ranks>(at(size)));
    for (int r = 0; r < size; ++r) {
      for (auto& part : held[at(r)]) part = {r};
    }
    for (int s = 0; s + 1 < size; ++s) {
      const auto before = held;
      for (int r = 0; r < size; ++r) {
        const auto step = ring_reducescatter(r, parts)[at(s)];
        const auto peer = ring_reducescatter(previous_rank(r, size), parts)[at(s)];
        CHECK(peer.send_part == step.recv_part);
        const auto& arriving = before[at(previous_rank(r, size))][at(step.recv_part)];
        auto& mine = held[at(r)][at(step.recv_part)];
        for (const int rank : arriving) CHECK(mine.insert(rank).second);
      }
    }
    for (int r = 0; r < size; ++r) CHECK(held[at(r)][at(r)].size() == at(size));
  }
}

TEST_CASE("ring allgather brings every part to every rank") {
  for (int size = 1; size <= kMostRanks; ++size) {
    const auto parts = even_parts(100, size);
    std::vector<Ranks> held(at(size));
    for (int r = 0; r < size; ++r) held[at(r)] = {r};
    for (int s = 0; s + 1 < size; ++s) {
      const auto before = held;
      for (int r = 0; r < size; ++r) {
        const auto step = ring_allgather(r, parts)[at(s)];
        CHECK(before[at(r)].count(step.send_part) == 1);
        CHECK(ring_allgather(previous_rank(r, size), parts)[at(s)].send == step.recv);
        held[at(r)].insert(step.recv_part);
      }
    }
    for (int r = 0; r < size; ++r) CHECK(held[at(r)].size() == at(size));
  }
}

// The piece that `from` sends to `to` in the given block.
Part sent(int from, int to, const Parts& parts, std::size_t block) {
  const auto blocks = pairwise_reducescatter(from, parts, 10);
  for (const auto& step : blocks[block].steps) {
    if (step.to == to) return step.send;
  }
  return {};
}

TEST_CASE("pairwise: both ends agree on every piece, and the blocks cover the own part") {
  for (int size = 2; size <= 5; ++size) {
    for (const std::uint64_t count : {0U, 1U, 3U, 50U, 173U}) {
      const auto parts = even_parts(count, size);
      for (int r = 0; r < size; ++r) {
        const auto blocks = pairwise_reducescatter(r, parts, 10);
        std::uint64_t covered = 0;
        for (std::size_t b = 0; b < blocks.size(); ++b) {
          CHECK(blocks[b].own.offset == parts[at(r)].offset + covered);
          covered += blocks[b].own.count;
          for (const auto& step : blocks[b].steps) CHECK(sent(step.from, r, parts, b) == step.recv);
        }
        CHECK(covered == parts[at(r)].count);
      }
    }
  }
}

TEST_CASE("broadcast plans are trees over all ranks, from any root") {
  for (int size = 1; size <= kMostRanks; ++size) {
    for (int root = 0; root < size; ++root) {
      for (const auto make : {binomial_tree, chain}) {
        std::vector<int> reached{root};
        for (std::size_t i = 0; i < reached.size(); ++i) {
          const auto plan = make(reached[i], size, root);
          for (const int child : plan.children) {
            CHECK(make(child, size, root).parent == reached[i]);
            reached.push_back(child);
          }
        }
        CHECK(Ranks(reached.begin(), reached.end()).size() == at(size));
        CHECK(reached.size() == at(size));
        CHECK(make(root, size, root).parent == -1);
      }
    }
  }
}

TEST_CASE("after the barrier every rank has heard of every other") {
  for (int size = 1; size <= kMostRanks; ++size) {
    std::vector<Ranks> heard(at(size));
    for (int r = 0; r < size; ++r) heard[at(r)] = {r};
    for (std::size_t round = 0; round < dissemination(0, size).size(); ++round) {
      const auto before = heard;
      for (int r = 0; r < size; ++r) {
        const auto from = dissemination(r, size)[round].from;
        CHECK(dissemination(from, size)[round].to == r);
        heard[at(r)].insert(before[at(from)].begin(), before[at(from)].end());
      }
    }
    for (const auto& all : heard) CHECK(all.size() == at(size));
  }
}

TEST_CASE("plans print") {
  CHECK(to_string(ring_reducescatter(0, even_parts(4, 2))) == "send part 1 [2, 4), receive part 0 [0, 2)\n");
  CHECK(to_string(binomial_tree(0, 4, 0)) == "root, pass on to 2, pass on to 1\n");
  CHECK(to_string(chain(3, 4, 1)) == "receive from 2, pass on to 0\n");
  CHECK(to_string(pairwise_reducescatter(0, even_parts(4, 2), 8)) ==
        "send [2, 4) to 1, receive [0, 2) from 1\nfold [0, 2)\n");
}

}  // namespace
