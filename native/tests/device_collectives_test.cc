// Every collective on device memory, by NCCL and staged, against the same reference as the host ring. Kernels
// and copies are slow and launches late on purpose, so that a missing wait between streams gives wrong
// values.
#include <doctest/doctest.h>

#include <functional>  // for function
#include <numeric>     // for accumulate

#include "device_group.h"
#include "suites/collectives.h"

namespace {

using namespace ring;
using namespace ring::testing;

// Arrays of all ranks on their devices.
struct Stage {
  explicit Stage(int size) {
    for (int rank = 0; rank < size; ++rank) benches.push_back(std::make_unique<Bench>(rank));
  }
  // Queues the upload and gives the address.
  std::byte* upload(std::size_t rank, const Array& array, std::size_t room = 0) {
    const std::size_t bytes = array.count() * size_of(array.dtype());
    auto* memory = benches[rank]->allocate(std::max(bytes, room));
    benches[rank]->copy(memory, array.data(), bytes);
    return memory;
  }
  // Queues the download behind a work.
  void download(std::size_t rank, const DeviceCommunicator::Submitted& submitted, Array& to,
                const std::byte* from) {
    REQUIRE(submitted);
    REQUIRE(submitted.value()->launched_for(kPatience));
    CHECK(submitted.value()->order(benches[rank]->stream()));
    benches[rank]->copy(to.data(), from, to.count() * size_of(to.dtype()));
  }
  void drain() {
    for (auto& bench : benches) bench->drain();
  }
  std::vector<std::unique_ptr<Bench>> benches;
};

using Submit = std::function<comm::Operation(std::size_t rank, std::byte* send, std::byte* recv)>;

// Runs one collective on all ranks: `given` goes up, the operation follows it on the same stream, `room`
// bytes of result come down into `out`.
void run(DeviceGroup& group, const std::vector<Array>& given, std::vector<Array>& out,
         const Submit& operation) {
  Stage stage(static_cast<int>(group.ranks.size()));
  std::vector<DeviceCommunicator::Submitted> submitted;
  std::vector<std::byte*> results;
  for (std::size_t rank = 0; rank < given.size(); ++rank) {
    auto* send = stage.upload(rank, given[rank]);
    results.push_back(stage.benches[rank]->allocate(out[rank].count() * size_of(out[rank].dtype())));
    submitted.push_back(
        group.ranks[rank]->submit(operation(rank, send, results[rank]), stage.benches[rank]->stream()));
  }
  for (std::size_t rank = 0; rank < given.size(); ++rank) {
    stage.download(rank, submitted[rank], out[rank], results[rank]);
  }
  stage.drain();
  for (const auto& one : submitted) CHECK(device_outcome(one));
}

void check_allreduce(DeviceGroup& group, DType dtype, ReduceOp op, std::size_t count) {
  const int size = static_cast<int>(group.ranks.size());
  const auto given = inputs(dtype, op, size, count);
  auto out = std::vector<Array>(given.size(), Array(dtype, count));
  run(group, given, out, [&](std::size_t, std::byte* send, std::byte* recv) {
    return comm::allreduce_of({send, recv, dtype, op}, count, {kPatience, "sum"});
  });
  for (const auto& one : out) {
    CHECK(count_wrong(one, op, size) == 0);
    CHECK(one == out[0]);
  }
}

void check_reducescatter(DeviceGroup& group, DType dtype, ReduceOp op, const backend::Counts& counts) {
  const int size = static_cast<int>(counts.size());
  const auto total = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  std::vector<Array> out;
  for (const auto count : counts) out.emplace_back(dtype, count);
  run(group, inputs(dtype, op, size, total), out, [&](std::size_t, std::byte* send, std::byte* recv) {
    return comm::reducescatter_of({send, recv, dtype, op}, counts, {kPatience, "scatter"});
  });
  std::size_t offset = 0;
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    CHECK(count_wrong(out[rank], op, size, offset) == 0);
    offset += counts[rank];
  }
}

void check_allgather(DeviceGroup& group, DType dtype, const backend::Counts& counts) {
  const auto total = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  std::vector<Array> given;
  Array expected(dtype, total);
  std::size_t offset = 0;
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    given.push_back(filled(dtype, ReduceOp::kSum, static_cast<int>(rank), counts[rank]));
    for (std::size_t i = 0; i < counts[rank]; ++i) expected.set(offset++, given[rank].get(i));
  }
  auto out = std::vector<Array>(counts.size(), Array(dtype, total));
  run(group, given, out, [&](std::size_t, std::byte* send, std::byte* recv) {
    return comm::allgather_of(send, recv, counts, dtype, {kPatience, "gather"});
  });
  for (const auto& one : out) CHECK(one == expected);
}

void check_broadcast(DeviceGroup& group, DType dtype, int root, std::size_t count) {
  const auto given = inputs(dtype, ReduceOp::kSum, static_cast<int>(group.ranks.size()), count);
  Stage stage(static_cast<int>(given.size()));
  std::vector<std::byte*> memory;
  std::vector<DeviceCommunicator::Submitted> submitted;
  for (std::size_t rank = 0; rank < given.size(); ++rank) {
    memory.push_back(stage.upload(rank, given[rank]));
    submitted.push_back(group.ranks[rank]->submit(
        comm::broadcast_of(memory[rank], count, dtype, root, {kPatience}), stage.benches[rank]->stream()));
  }
  auto out = std::vector<Array>(given.size(), Array(dtype, count));
  for (std::size_t rank = 0; rank < given.size(); ++rank)
    stage.download(rank, submitted[rank], out[rank], memory[rank]);
  stage.drain();
  for (const auto& one : out) CHECK(one == given[static_cast<std::size_t>(root)]);
}

// Rank r gives rank p 3 + r + 2 p elements times `scale`, none where p is r + 1.
void check_alltoall(DeviceGroup& group, DType dtype, std::size_t scale) {
  const std::size_t size = group.ranks.size();
  const auto count = [&](std::size_t from, std::size_t to) {
    return to == from + 1 ? std::size_t{0} : (3 + from + 2 * to) * scale;
  };
  std::vector<backend::Counts> sends(size);
  std::vector<backend::Counts> receives(size);
  std::vector<Array> given;
  std::vector<Array> out;
  for (std::size_t rank = 0; rank < size; ++rank) {
    for (std::size_t peer = 0; peer < size; ++peer) {
      sends[rank].push_back(count(rank, peer));
      receives[rank].push_back(count(peer, rank));
    }
    given.push_back(filled(dtype, ReduceOp::kSum, static_cast<int>(rank),
                           std::accumulate(sends[rank].begin(), sends[rank].end(), std::size_t{0})));
    out.emplace_back(dtype, std::accumulate(receives[rank].begin(), receives[rank].end(), std::size_t{0}));
  }
  run(group, given, out, [&](std::size_t rank, std::byte* send, std::byte* recv) {
    return comm::alltoall_of(send, sends[rank], recv, receives[rank], dtype, {kPatience, "all to all"});
  });
  for (std::size_t rank = 0; rank < size; ++rank) {
    std::size_t at = 0;
    for (std::size_t peer = 0; peer < size; ++peer) {
      const auto before =
          std::accumulate(sends[peer].begin(), sends[peer].begin() + static_cast<long>(rank), std::size_t{0});
      for (std::size_t i = 0; i < count(peer, rank); ++i)
        CHECK(out[rank].get(at++) == given[peer].get(before + i));
    }
  }
}

void check_everything(DeviceGroup& group, std::size_t scale) {
  const int size = static_cast<int>(group.ranks.size());
  const auto uneven = uneven_counts(size, scale);
  const backend::Counts even(static_cast<std::size_t>(size), scale);
  check_allreduce(group, DType::kFloat32, ReduceOp::kMean, scale);
  check_reducescatter(group, DType::kFloat32, ReduceOp::kSum, even);
  check_reducescatter(group, DType::kFloat64, ReduceOp::kMean, uneven);
  check_allgather(group, DType::kInt32, even);
  check_allgather(group, DType::kInt64, uneven);
  check_broadcast(group, DType::kBool, size - 1, scale);
  check_alltoall(group, DType::kFloat16, scale / 8 + 1);
}

TEST_CASE("collectives by NCCL on any number of ranks, with late launches and slow kernels") {
  const Setting slow("FAKE_NCCL_SLOW", "3");
  const Setting delay("FAKE_CUDA_DELAY_US", "300");
  for (int size = 1; size <= 4; ++size) {
    auto group = device_group(size);
    CHECK(!group->ranks[0]->is_staged());
    CHECK(group->ranks[0]->reason().find("NCCL 2.32.3 (setting: ") == 0);
    check_everything(*group, 7);
  }
}

TEST_CASE("collectives staged through the host, with slow copies") {
  const Setting delay("FAKE_CUDA_DELAY_US", "300");
  for (int size = 1; size <= 3; ++size) {
    auto group = device_group(size, "staged");
    CHECK(group->ranks[0]->is_staged());
    check_everything(*group, 7);
  }
}

TEST_CASE("more than one staged chunk") {
  auto group = device_group(3, "staged");
  check_everything(*group, 700'001);
}

TEST_CASE("every type and operation, by NCCL where it can and exactly through the host where it cannot") {
  auto group = device_group(2);
  for (const auto dtype : kReducible) {
    for (const auto op : kOps) check_allreduce(*group, dtype, op, 33);
  }
}

TEST_CASE("sums and means are scaled on the device") {
  for (const char* mode : {"nccl", "staged"}) {
    auto group = device_group(2, mode);
    const auto given = inputs(DType::kFloat32, ReduceOp::kSum, 2, 9);
    auto out = std::vector<Array>(2, Array(DType::kFloat32, 9));
    run(*group, given, out, [](std::size_t, std::byte* send, std::byte* recv) {
      return comm::allreduce_of({send, recv, DType::kFloat32, ReduceOp::kMean, 0.5, 4}, 9, {kPatience});
    });
    for (std::size_t i = 0; i < 9; ++i) CHECK(out[1].get(i) == given[0].get(i) + given[1].get(i));
  }
}

TEST_CASE("scales that cannot be are refused and harm nothing") {
  auto group = device_group(2);
  std::byte* some = Bench(0).allocate(8);
  const auto ask = [&](DType dtype, ReduceOp op, double factor) {
    return group->ranks[0]
        ->submit(comm::allreduce_of({some, some, dtype, op, factor}, 1, {kPatience}), nullptr)
        .status();
  };
  CHECK(ask(DType::kFloat32, ReduceOp::kMax, 2).code() == Code::kInvalidArgument);
  CHECK(ask(DType::kInt32, ReduceOp::kSum, 2).code() == Code::kInvalidArgument);
  CHECK(ask(DType::kFloat16, ReduceOp::kSum, 1e-9).code() == Code::kInvalidArgument);
  CHECK(ask(DType::kFloat16, ReduceOp::kSum, 1e9).message().find("cannot hold the factor") !=
        std::string::npos);
  check_allreduce(*group, DType::kFloat32, ReduceOp::kSum, 5);
}

TEST_CASE("a grouped allreduce is one launch, of any mix of types") {
  for (const char* mode : {"nccl", "staged"}) {
    auto group = device_group(2, mode);
    const auto floats = inputs(DType::kFloat32, ReduceOp::kSum, 2, 11);
    const auto whole = inputs(DType::kInt64, ReduceOp::kSum, 2, 4);
    Stage stage(2);
    std::vector<std::byte*> first;
    std::vector<std::byte*> second;
    std::vector<DeviceCommunicator::Submitted> submitted;
    for (std::size_t rank = 0; rank < 2; ++rank) {
      first.push_back(stage.upload(rank, floats[rank]));
      second.push_back(stage.upload(rank, whole[rank]));
      submitted.push_back(group->ranks[rank]->submit(
          comm::grouped_allreduce_of({{first[rank], first[rank], 11, DType::kFloat32},
                                      {second[rank], second[rank], 4, DType::kInt64}},
                                     ReduceOp::kSum, {kPatience, "both"}),
          stage.benches[rank]->stream()));
    }
    Array one(DType::kFloat32, 11);
    Array two(DType::kInt64, 4);
    stage.download(0, submitted[0], one, first[0]);
    stage.download(1, submitted[1], two, second[1]);
    stage.drain();
    CHECK(count_wrong(one, ReduceOp::kSum, 2) == 0);
    CHECK(count_wrong(two, ReduceOp::kSum, 2) == 0);
  }
}

TEST_CASE("calls that nobody waits for in between keep their order") {
  const Setting delay("FAKE_CUDA_DELAY_US", "300");
  for (const char* mode : {"nccl", "staged"}) {
    auto group = device_group(2, mode);
    Stage stage(2);
    const Array ones = filled(DType::kFloat32, ReduceOp::kSum, 0, 6);
    std::vector<std::byte*> memory;
    std::vector<DeviceCommunicator::Submitted> last(2, Status::ok());
    for (std::size_t rank = 0; rank < 2; ++rank) memory.push_back(stage.upload(rank, ones));
    for (int round = 0; round < 3; ++round) {
      for (std::size_t rank = 0; rank < 2; ++rank) {
        last[rank] = group->ranks[rank]->submit(
            comm::allreduce_of({memory[rank], memory[rank], DType::kFloat32, ReduceOp::kSum}, 6, {kPatience}),
            stage.benches[rank]->stream());
      }
    }
    Array out(DType::kFloat32, 6);
    stage.download(0, last[0], out, memory[0]);
    stage.drain();
    for (std::size_t i = 0; i < 6; ++i) CHECK(out.get(i) == 8 * ones.get(i));
    CHECK(device_outcome(last[1]));
  }
}

TEST_CASE("a barrier, a split and registered memory") {
  auto group = device_group(4);
  std::vector<Status> outcomes(4);
  on_threads(4, [&](int rank) {
    auto& mine = *group->ranks[static_cast<std::size_t>(rank)];
    outcomes[static_cast<std::size_t>(rank)] =
        device_outcome(mine.submit(comm::barrier_of({kPatience}), nullptr));
  });
  CHECK(all_ok(outcomes));

  auto bench = Bench(1);
  auto* memory = bench.allocate(64);
  const auto handle = group->ranks[1]->register_buffer(memory, 64);
  REQUIRE(handle);
  CHECK(handle.value() != 0);
  CHECK(group->ranks[1]->deregister_buffer(handle.value()));
  CHECK(group->ranks[1]->register_buffer(memory, 64));  // close gives it back

  auto halves = std::vector<Group>{inproc_group(2), inproc_group(2)};  // the host rings of both halves
  DeviceGroup even;
  even.ranks.resize(2);
  on_threads(4, [&](int rank) {
    auto& child = halves[static_cast<std::size_t>(rank % 2)][static_cast<std::size_t>(rank / 2)];
    const bool takes_part = rank % 2 == 0;
    auto made = group->ranks[static_cast<std::size_t>(rank)]->split(0, takes_part ? &child : nullptr,
                                                                    kPatience, nullptr);
    CHECK(made.is_ok());
    if (made && takes_part) even.ranks[static_cast<std::size_t>(rank / 2)] = made.value();
    if (made && !takes_part) CHECK(made.value().get() == nullptr);
  });
  CHECK(even.ranks[1]->size() == 2);
  check_allreduce(even, DType::kFloat32, ReduceOp::kSum, 5);
  check_allreduce(*group, DType::kFloat32, ReduceOp::kSum, 5);
}

}  // namespace
