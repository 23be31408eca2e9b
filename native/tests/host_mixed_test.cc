// HostBackend over hosts with several ranks: every collective against a reference, bits alike on all ranks,
// and what crosses the wire.
#include <doctest/doctest.h>

#include <numeric>  // for accumulate
#include <string>   // for to_string
#include <vector>   // for vector

#include "host_ranks.h"
#include "suites/collectives.h"
#include "values.h"

namespace {

using namespace ring;
using namespace ring::testing;
using algo::HostBackend;

// Hosts by rank: alone, even, uneven, interleaved.
const std::vector<std::vector<int>> kPlaces = {
    {0}, {0, 0, 0}, {0, 1, 2}, {0, 0, 1, 1}, {0, 0, 0, 1}, {0, 1, 1, 2, 2, 2}, {0, 1, 0, 1, 0, 2}};

std::size_t at(const HostBackend& backend) {
  return static_cast<std::size_t>(backend.rank());
}

struct Case {
  DType dtype;
  ReduceOp op;
  std::size_t count;
};

void check_mixed_allreduce(HostRanks& ranks, const Case& what) {
  const int size = ranks.size();
  const auto given = inputs(what.dtype, what.op, size, what.count);
  auto out = std::vector<Array>(given.size(), Array(what.dtype, what.count));
  auto in_place = given;
  CHECK(all_fine(ranks.on_all([&](HostBackend& backend, const backend::Call& call) {
    const auto me = at(backend);
    RING_TRY(backend.allreduce({given[me].data(), out[me].data(), what.dtype, what.op}, what.count, call));
    auto* data = in_place[me].data();
    return backend.allreduce({data, data, what.dtype, what.op}, what.count, call);
  })));
  CHECK(count_wrong(out[0], what.op, size) == 0);
  for (std::size_t rank = 0; rank < out.size(); ++rank) {
    CHECK(out[rank] == out[0]);
    CHECK(in_place[rank] == out[0]);
    CHECK(given[rank] == filled(what.dtype, what.op, static_cast<int>(rank), what.count));
  }
}

TEST_CASE("mixed hosts, allreduce: every dtype, op and size") {
  for (const auto& places : kPlaces) {
    HostRanks ranks(places);
    for (const auto dtype : kReducible) {
      for (const auto op : kOps) {
        for (const std::size_t count : {0U, 1U, 7U, 3001U}) {
          if (size_of(dtype) == 1 && op == ReduceOp::kSum) continue;  // wraps, the reference does not
          CAPTURE(std::string(name_of(dtype)));
          CAPTURE(std::string(name_of(op)));
          CAPTURE(count);
          CAPTURE(ranks.text());
          if (count == 7 || op == ReduceOp::kMean) check_mixed_allreduce(ranks, {dtype, op, count});
        }
      }
    }
    for (const auto dtype : {DType::kFloat32, DType::kBFloat16, DType::kInt64}) {
      CAPTURE(std::string(name_of(dtype)));
      CAPTURE(ranks.text());
      check_mixed_allreduce(ranks, {dtype, ReduceOp::kMean, 100003});
    }
  }
}

TEST_CASE("mixed hosts, reducescatter: parts of any length") {
  for (const auto& places : kPlaces) {
    HostRanks ranks(places);
    CAPTURE(ranks.text());
    for (const auto dtype : {DType::kFloat32, DType::kBFloat16, DType::kInt32}) {
      for (const std::size_t scale : {0U, 5U, 12001U}) {
        const auto counts = uneven_counts(ranks.size(), scale);
        const auto parts = plan::parts_of(counts);
        const auto given = inputs(dtype, ReduceOp::kMean, ranks.size(), plan::total(parts));
        std::vector<Array> out;
        for (const auto count : counts) out.emplace_back(dtype, count);
        CHECK(all_fine(ranks.on_all([&](HostBackend& backend, const backend::Call& call) {
          const auto me = at(backend);
          return backend.reducescatter({given[me].data(), out[me].data(), dtype, ReduceOp::kMean}, counts,
                                       call);
        })));
        for (std::size_t rank = 0; rank < out.size(); ++rank) {
          CHECK(count_wrong(out[rank], ReduceOp::kMean, ranks.size(), parts[rank].offset) == 0);
        }
      }
    }
  }
}

std::byte mark(int from, int to, std::size_t place) {
  return static_cast<std::byte>(static_cast<std::size_t>(from * 31 + to * 7) + place * 13);
}

TEST_CASE("mixed hosts, allgather: rows that differ by rank") {
  for (const auto& places : kPlaces) {
    HostRanks ranks(places);
    CAPTURE(ranks.text());
    for (const std::size_t scale : {0U, 1U, 30001U}) {
      const auto counts = uneven_counts(ranks.size(), scale);
      const auto parts = plan::parts_of(counts);
      std::vector<std::byte> expected(plan::total(parts));
      for (int rank = 0; rank < ranks.size(); ++rank) {
        const auto& part = parts[static_cast<std::size_t>(rank)];
        for (std::size_t i = 0; i < part.count; ++i) expected[part.offset + i] = mark(rank, 0, i);
      }
      CHECK(all_fine(ranks.on_all([&](HostBackend& backend, const backend::Call& call) {
        const auto& part = parts[at(backend)];
        std::vector<std::byte> out(expected.size());
        const Bytes own(expected.data() + part.offset, part.count);
        RING_TRY(backend.allgather(own, out.data(), counts, call));
        return out == expected ? Status::ok() : Status(Code::kInternal, "wrong bytes");
      })));
    }
  }
}

TEST_CASE("mixed hosts, broadcast: any root") {
  for (const auto& places : kPlaces) {
    HostRanks ranks(places);
    CAPTURE(ranks.text());
    for (int root = 0; root < ranks.size(); ++root) {
      for (const std::size_t count : {0U, 3U, 200001U}) {
        std::vector<std::byte> expected(count);
        for (std::size_t i = 0; i < count; ++i) expected[i] = mark(root, 1, i);
        CHECK(all_fine(ranks.on_all([&](HostBackend& backend, const backend::Call& call) {
          std::vector<std::byte> data(count);
          if (backend.rank() == root) data = expected;
          RING_TRY(backend.broadcast(MutableBytes(data.data(), count), root, call));
          return data == expected ? Status::ok() : Status(Code::kInternal, "wrong bytes");
        })));
      }
    }
  }
}

TEST_CASE("mixed hosts, alltoall: any counts") {
  for (const auto& places : kPlaces) {
    HostRanks ranks(places);
    CAPTURE(ranks.text());
    const int size = ranks.size();
    for (const std::uint64_t scale : {1U, 50001U}) {
      const auto between = [scale](int from, int to) {
        return static_cast<std::uint64_t>((from * 3 + to * 5) % 4) * scale;
      };
      CHECK(all_fine(ranks.on_all([&](HostBackend& backend, const backend::Call& call) {
        const int me = backend.rank();
        backend::Counts out;
        backend::Counts in;
        for (int other = 0; other < size; ++other) {
          out.push_back(between(me, other));
          in.push_back(between(other, me));
        }
        std::vector<std::byte> send;
        std::vector<std::byte> expected;
        for (int other = 0; other < size; ++other) {
          for (std::size_t i = 0; i < between(me, other); ++i) send.push_back(mark(me, other, i));
          for (std::size_t i = 0; i < between(other, me); ++i) expected.push_back(mark(other, me, i));
        }
        std::vector<std::byte> recv(expected.size());
        RING_TRY(backend.alltoall(send.data(), out, recv.data(), in, call));
        return recv == expected ? Status::ok() : Status(Code::kInternal, "wrong bytes");
      })));
    }
  }
}

TEST_CASE("nobody leaves a barrier over hosts before everybody has come") {
  for (const auto& places : kPlaces) {
    HostRanks ranks(places);
    for (int round = 0; round < 10; ++round) {
      std::atomic<int> come{0};
      CHECK(all_fine(ranks.on_all([&](HostBackend& backend, const backend::Call& call) {
        ++come;
        RING_TRY(backend.barrier(call));
        return come == ranks.size() ? Status::ok() : Status(Code::kInternal, "left early");
      })));
    }
  }
}

TEST_CASE("a host is crossed once in each direction, and its ranks share the bytes") {
  constexpr std::size_t kCount = 1 << 20;
  const std::vector<std::pair<std::vector<int>, double>> cases = {{{0, 0, 1, 1}, 1},
                                                                  {{0, 1, 2, 0, 1, 2}, 4.0 / 3}};
  for (const auto& [places, times] : cases) {
    HostRanks ranks(places);
    CHECK(all_fine(ranks.on_all([&](HostBackend& backend, const backend::Call& call) {
      Array data(DType::kFloat32, kCount);
      return backend.allreduce({data.data(), data.data(), DType::kFloat32, ReduceOp::kSum}, kCount, call);
    })));
    const double of_host = times * kCount * sizeof(float);  // 2 (h - 1) / h of the buffer
    for (int rank = 0; rank < ranks.size(); ++rank) {
      const auto& meter = ranks.backend(rank).meter();
      CHECK(static_cast<double>(meter.sent_bytes) == doctest::Approx(of_host / 2).epsilon(0.001));
      CHECK(static_cast<double>(meter.received_bytes) == doctest::Approx(of_host / 2).epsilon(0.001));
    }
  }
}

TEST_CASE("mixed hosts, compressed: half the bytes, the same bits, and nothing lost for good") {
  constexpr std::size_t kCount = 40001;
  HostRanks ranks({0, 0, 1, 1});
  std::vector<std::vector<float>> residuals(4, std::vector<float>(kCount, 0));
  std::vector<std::vector<float>> out(4, std::vector<float>(kCount));
  std::vector<double> total(kCount, 0);
  constexpr int kCalls = 50;
  const auto value = [](std::size_t rank, std::size_t i) {
    return 1.0F + static_cast<float>((i * 7 + rank * 3) % 1000) / 3000.0F;
  };
  for (int call = 0; call < kCalls; ++call) {
    CHECK(all_fine(ranks.on_all([&](HostBackend& backend, const backend::Call& now) {
      const auto me = at(backend);
      std::vector<float> data(kCount);
      for (std::size_t i = 0; i < kCount; ++i) data[i] = value(me, i);
      backend::Reduction what{reinterpret_cast<const std::byte*>(data.data()),
                              reinterpret_cast<std::byte*>(out[me].data()), DType::kFloat32, ReduceOp::kMean};
      what.wire = DType::kBFloat16;
      what.residual = residuals[me].data();
      return backend.allreduce(what, kCount, now);
    })));
    for (const auto& one : out) CHECK(one == out[0]);
    for (std::size_t i = 0; i < kCount; ++i) total[i] += static_cast<double>(out[0][i]);
  }
  double worst = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    double mean = 0;
    for (std::size_t rank = 0; rank < 4; ++rank) mean += static_cast<double>(value(rank, i)) / 4;
    worst = std::max(worst, std::fabs(total[i] - kCalls * mean));
  }
  CHECK(worst < 0.1);
  CHECK(static_cast<double>(ranks.backend(0).meter().sent_bytes) ==
        doctest::Approx(kCalls * kCount * 2 / 2.0).epsilon(0.01));
}

TEST_CASE("bfloat16 keeps small addends over hosts: 256 and seven ones average to 33 wherever the 256 lies") {
  HostRanks ranks({0, 0, 1, 1, 1, 2, 2, 2});
  for (std::size_t place = 0; place < 8; ++place) {
    std::vector<Array> data(8, Array(DType::kBFloat16, 3));
    for (std::size_t rank = 0; rank < 8; ++rank) {
      for (std::size_t i = 0; i < 3; ++i) data[rank].set(i, rank == place ? 256 : 1);
    }
    CHECK(all_fine(ranks.on_all([&](HostBackend& backend, const backend::Call& call) {
      auto* mine = data[at(backend)].data();
      return backend.allreduce({mine, mine, DType::kBFloat16, ReduceOp::kMean}, 3, call);
    })));
    for (const auto& one : data) {
      for (std::size_t i = 0; i < 3; ++i) CHECK(one.get(i) == 33.0);
    }
  }
}

TEST_CASE("who is interrupted on its host or on the wire knows whom it was waiting for") {
  HostRanks ranks({0, 0, 1});
  const Says what("barrier");
  Status on_host;
  Status on_wire;
  // Rank 1 never comes: rank 0 waits for it in shared memory, rank 2 for rank 0 on the wire.
  std::thread first([&] { on_host = ranks.backend(0).barrier({what, 60}); });
  std::thread second([&] { on_wire = ranks.backend(2).barrier({what, 60}); });
  ranks.interrupt(0).raise();
  ranks.interrupt(2).raise();
  first.join();
  second.join();
  CHECK(on_host.code() == Code::kAborted);
  CHECK(on_wire.code() == Code::kAborted);
  CHECK(ranks.backend(0).waited_for() == 1);
  CHECK(ranks.backend(2).waited_for() == 0);
}

TEST_CASE("groups of some ranks share links and segment") {
  HostRanks ranks({0, 0, 1, 1});
  CHECK(all_fine(ranks.on_all([&](HostBackend& backend, const backend::Call& call) {
    for (const auto& some : std::vector<std::vector<int>>{{0, 1}, {3, 1, 0}, {0, 2}, {2, 3, 1}}) {
      auto group = backend.split(some, call);
      RING_TRY(group.status());
      if (!group.value()) continue;
      std::int64_t sum = backend.rank() + 1;
      auto* data = reinterpret_cast<std::byte*>(&sum);
      RING_TRY(group.value()->allreduce({data, data, DType::kInt64, ReduceOp::kSum}, 1, call));
      std::int64_t expected = 0;
      for (const int rank : some) expected += rank + 1;
      if (sum != expected) return Status(Code::kInternal, "wrong sum");
    }
    return backend.barrier(call);
  })));
}

}  // namespace
