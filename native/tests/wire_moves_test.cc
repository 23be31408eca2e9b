// The collectives of the wire that move bytes, and reducescatter with its uneven parts.
#include <doctest/doctest.h>

#include <atomic>   // for atomic
#include <numeric>  // for accumulate
#include <vector>   // for vector

#include "suites/collectives.h"
#include "values.h"
#include "wire_group.h"

namespace {

using namespace ring;
using namespace ring::testing;
using plan::Algorithm;

std::size_t at(const algo::Wire& wire) {
  return static_cast<std::size_t>(wire.index());
}

std::byte mark(int from, int to, std::size_t place) {
  return static_cast<std::byte>(static_cast<std::size_t>(from * 31 + to * 7) + place * 13);
}

// Speeds by which everything goes round by neighbours, or straight.
plan::Speeds by_neighbours() {
  plan::Speeds speeds;
  speeds.wire.alpha_s = 0;
  return speeds;
}
plan::Speeds straight() {
  plan::Speeds speeds;
  speeds.wire = {1, 1e18};
  return speeds;
}

void check_reducescatter(WireGroup& group, DType dtype, ReduceOp op, const backend::Counts& counts) {
  const int size = group.size();
  const auto parts = plan::parts_of(counts);
  const auto given = inputs(dtype, op, size, plan::total(parts));
  std::vector<Array> out;
  for (const auto count : counts) out.emplace_back(dtype, count);
  CHECK(all_fine(group.on_all([&](algo::Wire& wire, const backend::Call& call) {
    algo::wire::Values values{};
    values.own = given[at(wire)].data();
    values.out = out[at(wire)].data();
    values.from = values.to = values.wire = dtype;
    values.op = op;
    values.scaling = kernel::scaling_of(dtype, op, size, 1, 1);
    return wire.reducescatter(values, parts, call);
  })));
  for (std::size_t rank = 0; rank < out.size(); ++rank) {
    CHECK(count_wrong(out[rank], op, size, parts[rank].offset) == 0);
    CHECK(given[rank] == filled(dtype, op, static_cast<int>(rank), plan::total(parts)));
  }
}

TEST_CASE("wire reducescatter: parts of any length, empty ones too") {
  for (const int size : {1, 2, 3, 4, 9}) {
    auto group = inproc_wires(size);
    for (const auto& speeds : {by_neighbours(), straight()}) {
      group.assume(speeds);
      for (const auto dtype : {DType::kFloat32, DType::kBFloat16, DType::kInt64, DType::kUint8}) {
        for (const auto op : {ReduceOp::kMean, ReduceOp::kMax}) {
          CAPTURE(size);
          CAPTURE(std::string(name_of(dtype)));
          check_reducescatter(group, dtype, op, uneven_counts(size, 5));
          check_reducescatter(group, dtype, op, uneven_counts(size, 12001));
          check_reducescatter(group, dtype, op, backend::Counts(static_cast<std::size_t>(size), 0));
        }
      }
    }
  }
}

TEST_CASE("wire allgather: any parts, in any order of the buffer") {
  for (const int size : {1, 2, 3, 4, 9}) {
    auto group = inproc_wires(size);
    for (const auto& speeds : {by_neighbours(), straight()}) {
      group.assume(speeds);
      for (const std::size_t scale : {1U, 70001U}) {
        auto parts = plan::parts_of(uneven_counts(size, scale));
        const auto total = plan::total(parts);
        std::reverse(parts.begin(), parts.end());
        std::vector<std::byte> expected(total);
        std::vector<std::vector<std::byte>> data(parts.size(), std::vector<std::byte>(total));
        for (std::size_t rank = 0; rank < parts.size(); ++rank) {
          for (std::size_t i = 0; i < parts[rank].count; ++i) {
            const auto place = parts[rank].offset + i;
            expected[place] = data[rank][place] = mark(static_cast<int>(rank), 0, i);
          }
        }
        CHECK(all_fine(group.on_all([&](algo::Wire& wire, const backend::Call& call) {
          return wire.allgather(data[at(wire)].data(), parts, call);
        })));
        for (const auto& one : data) CHECK(one == expected);
      }
    }
  }
}

TEST_CASE("wire broadcast: any root, straight, by chain and by tree") {
  for (const int size : {1, 2, 5, 9, 12}) {
    auto group = inproc_wires(size);
    for (const auto& speeds : {by_neighbours(), straight()}) {
      group.assume(speeds);
      for (int root = 0; root < size; ++root) {
        for (const std::size_t count : {0U, 1U, 600001U}) {
          if (count > 1 && root > 2) continue;
          std::vector<std::byte> expected(count);
          for (std::size_t i = 0; i < count; ++i) expected[i] = mark(root, 1, i);
          std::vector<std::vector<std::byte>> data(static_cast<std::size_t>(size),
                                                   std::vector<std::byte>(count));
          data[static_cast<std::size_t>(root)] = expected;
          CHECK(all_fine(group.on_all([&](algo::Wire& wire, const backend::Call& call) {
            return wire.broadcast(MutableBytes(data[at(wire)].data(), count), root, call);
          })));
          for (const auto& one : data) CHECK(one == expected);
        }
      }
    }
  }
}

// What `from` gives to `to`.
std::uint64_t bytes_between(int from, int to, std::uint64_t scale) {
  return static_cast<std::uint64_t>((from * 3 + to * 5) % 4) * scale;
}

TEST_CASE("wire alltoall: any counts, both ways at once") {
  for (const int size : {1, 2, 3, 9, 20}) {
    auto group = inproc_wires(size);
    for (const std::uint64_t scale : {1U, 90001U}) {
      const auto outcomes = group.on_all([&](algo::Wire& wire, const backend::Call& call) {
        const int me = wire.index();
        backend::Counts out;
        backend::Counts in;
        for (int other = 0; other < size; ++other) {
          out.push_back(bytes_between(me, other, scale));
          in.push_back(bytes_between(other, me, scale));
        }
        const auto send_parts = plan::parts_of(out);
        const auto recv_parts = plan::parts_of(in);
        std::vector<std::byte> send(plan::total(send_parts));
        std::vector<std::byte> recv(plan::total(recv_parts));
        for (int other = 0; other < size; ++other) {
          const auto& part = send_parts[static_cast<std::size_t>(other)];
          for (std::size_t i = 0; i < part.count; ++i) send[part.offset + i] = mark(me, other, i);
        }
        std::vector<algo::Wire::Pair> pairs;
        for (int other = 0; other < size; ++other) {
          if (other == me) continue;
          const auto& give = send_parts[static_cast<std::size_t>(other)];
          const auto& take = recv_parts[static_cast<std::size_t>(other)];
          pairs.push_back({other, Bytes(send.data() + give.offset, give.count),
                           MutableBytes(recv.data() + take.offset, take.count)});
        }
        RING_TRY(wire.alltoall(pairs, call));
        for (int other = 0; other < size; ++other) {
          if (other == me) continue;
          const auto& part = recv_parts[static_cast<std::size_t>(other)];
          for (std::size_t i = 0; i < part.count; ++i) {
            if (recv[part.offset + i] != mark(other, me, i)) return Status(Code::kInternal, "wrong byte");
          }
        }
        return Status::ok();
      });
      CHECK(all_fine(outcomes));
    }
  }
}

TEST_CASE("nobody leaves a wire barrier before everybody has come") {
  for (const int size : {1, 2, 7, 8, 9, 17}) {
    auto group = inproc_wires(size);
    for (int round = 0; round < 20; ++round) {
      std::atomic<int> come{0};
      const auto outcomes = group.on_all([&](algo::Wire& wire, const backend::Call& call) {
        ++come;
        RING_TRY(wire.barrier(call));
        return come == size ? Status::ok() : Status(Code::kInternal, "left early");
      });
      CHECK(all_fine(outcomes));
    }
  }
}

}  // namespace
