// What goes wrong with devices: one typed failure on every rank, soon, with who, where and what to do.
#include <doctest/doctest.h>

#include "device_group.h"

namespace {

using namespace ring;
using namespace ring::testing;

bool contains(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE(text);
  return found;
}

comm::Operation sum_of(std::byte* memory, std::uint64_t count = 4, double timeout_s = kPatience) {
  return comm::allreduce_of({memory, memory, DType::kFloat32, ReduceOp::kSum}, count,
                            {timeout_s, "gradient"});
}

// Device memory of each rank.
struct Memory {
  explicit Memory(int size) {
    for (int rank = 0; rank < size; ++rank) {
      benches.push_back(std::make_unique<Bench>(rank));
      places.push_back(benches.back()->allocate(1024));
    }
  }
  std::vector<std::unique_ptr<Bench>> benches;
  std::vector<std::byte*> places;
};

// Outcomes by rank of one allreduce on all of them.
std::vector<Status> sum_on_all(DeviceGroup& group, Memory& memory, double timeout_s = kPatience) {
  std::vector<Status> outcomes(group.ranks.size());
  on_threads(static_cast<int>(group.ranks.size()), [&](int rank) {
    const auto place = static_cast<std::size_t>(rank);
    outcomes[place] = device_outcome(group.ranks[place]->submit(sum_of(memory.places[place], 4, timeout_s),
                                                                memory.benches[place]->stream()));
  });
  return outcomes;
}

std::vector<DeviceOptions> two(const DeviceOptions& first, const DeviceOptions& second) {
  return {first, second};
}

TEST_CASE("without a usable NCCL all ranks go through the host and say why") {
  auto options = device_options(1);
  std::string why;
  SUBCASE("no such file") {
    options.nccl_path = fake("nowhere/libnccl.so.2");
    why = "rank 1 on";
  }
  SUBCASE("something required is missing") {
    options.nccl_path = fake("broken/libnccl.so.2");
    why = "lacks ncclReduceScatter";
  }
  SUBCASE("not NCCL at all") {
    options.nccl_path = fake("cuda/libcuda.so.1");
    why = "is no NCCL";
  }
  SUBCASE("one rank asks for it") {
    options.mode = "staged";
    why = "rank 1 on";
  }
  auto group = device_group(two(device_options(0), options));
  for (const auto& rank : group->ranks) {
    CHECK(rank->is_staged());
    CHECK(contains(rank->reason(), why));
  }
  Memory memory(2);
  CHECK(all_ok(sum_on_all(*group, memory)));
}

TEST_CASE("an NCCL that is too old is refused by name") {
  const Setting old("FAKE_NCCL_VERSION", "21705");
  auto group = device_group(2);
  CHECK(contains(group->ranks[0]->reason(), "NCCL 2.17.5"));
  CHECK(contains(group->ranks[1]->reason(), "2.18.0 or newer is needed"));
  auto strict = try_device_group(two(device_options(0, "nccl"), device_options(1)));
  for (const auto& status : strict->outcomes) {
    CHECK(status.code() == Code::kInvalidArgument);
    CHECK(contains(status.message(), "asks for comm.device=nccl, which cannot be"));
  }
}

TEST_CASE("an NCCL without what is optional works, and says what it cannot") {
  auto options = device_options(0);
  options.nccl_path = fake("bare/libnccl.so.2");
  auto other = options;
  other.device = 1;
  auto group = device_group(two(options, other));
  CHECK(!group->ranks[0]->is_staged());
  Memory memory(2);
  CHECK(all_ok(sum_on_all(*group, memory)));
  const auto handle = group->ranks[0]->register_buffer(memory.places[0], 64);
  CHECK(handle.is_ok());
  CHECK(handle.value() == 0);
  CHECK(contains(group->ranks[0]->split(0, &group->host[0], 1, nullptr).status().message(), "ncclCommSplit"));
}

TEST_CASE("ranks that share a device go through the host, unless NCCL may share it") {
  auto group = device_group(two(device_options(0), device_options(0)));
  CHECK(group->ranks[0]->is_staged());
  CHECK(contains(group->ranks[0]->reason(), "share one GPU, 0000:01:00.0"));
  Memory memory(2);
  CHECK(all_ok(sum_on_all(*group, memory)));

  const Setting parts("FAKE_CUDA_MIG", "1");
  auto divided = device_group(2);
  CHECK(contains(divided->ranks[1]->reason(), "share one GPU"));

  const Setting may("NCCL_MULTI_RANK_GPU_ENABLE", "1");
  auto sharing = device_options(0);
  sharing.may_share = true;
  auto shared = device_group(two(sharing, sharing));
  CHECK(!shared->ranks[0]->is_staged());
  CHECK(all_ok(sum_on_all(*shared, memory)));
}

TEST_CASE("a rank without its device fails all ranks at once") {
  auto missing = device_options(7);
  missing.device = 9;
  auto group = try_device_group(two(device_options(0), missing));
  for (const auto& status : group->outcomes) {
    CHECK(status.code() == Code::kInvalidArgument);
    CHECK(status.rank() == 1);
    CHECK(contains(status.message(), "there is no cuda:9: 8 devices are visible"));
  }
}

TEST_CASE("a rank that cannot join tells the others, who do not wait for it") {
  const Setting fail("FAKE_NCCL_FAIL", "CommInitRankConfig:2:1");
  auto group = try_device_group(two(device_options(0), device_options(1)));
  for (const auto& status : group->outcomes) {
    CHECK(status.code() == Code::kSystem);
    CHECK(contains(status.report(), "unhandled cuda error"));
    CHECK(contains(status.report(), "cuda:"));
  }
}

TEST_CASE("an init that hangs ends by its deadline") {
  const Setting hang("FAKE_NCCL_HANG", "CommInitRankConfig");
  auto first = device_options(0);
  first.timeout_s = 0.3;
  auto second = device_options(1);
  second.timeout_s = 0.3;
  auto group = try_device_group(two(first, second));
  for (const auto& status : group->outcomes) {
    CHECK(status.code() == Code::kRendezvousTimeout);
    CHECK(contains(status.report(), "NCCL_SOCKET_IFNAME"));
  }
}

TEST_CASE("an error in the background reaches every rank, and nobody takes the result for good") {
  auto group = device_group(3);
  Memory memory(3);
  const Setting fail("FAKE_NCCL_FAIL", "AllReduce:5:1:async");
  CHECK(all_ok(sum_on_all(*group, memory)));
  for (const auto& status : sum_on_all(*group, memory)) {
    CHECK(status.code() == Code::kSystem);
    CHECK(contains(status.report(), "unhandled cuda error"));
    CHECK(contains(status.report(), "'gradient"));
  }
  for (const auto& host : group->host) CHECK(host.failure().code() == Code::kSystem);
  CHECK(!group->ranks[0]->submit(sum_of(memory.places[0]), nullptr));  // dead from here on
}

TEST_CASE("a call that fails at once reaches every rank too") {
  auto group = device_group(2);
  Memory memory(2);
  const Setting fail("FAKE_NCCL_FAIL", "AllReduce:1:3");
  for (const auto& status : sum_on_all(*group, memory)) {
    CHECK(status.code() == Code::kInternal);
    CHECK(contains(status.report(), "internal error"));
  }
}

TEST_CASE("a kernel that hangs ends by the deadline of its call") {
  auto group = device_group(2);
  Memory memory(2);
  const Setting hang("FAKE_NCCL_HANG", "AllReduce");
  for (const auto& status : sum_on_all(*group, memory, 0.3)) {
    CHECK(status.code() == Code::kCollectiveTimeout);
    CHECK(contains(status.report(), "did not end within 0.3"));
  }
}

TEST_CASE("ranks that ask for different things get a mismatch instead of a device that hangs") {
  auto group = device_group(2);
  Memory memory(2);
  std::vector<DeviceCommunicator::Submitted> submitted;
  for (std::size_t rank = 0; rank < 2; ++rank) {
    submitted.push_back(
        group->ranks[rank]->submit(sum_of(memory.places[rank], 4 + rank), memory.benches[rank]->stream()));
  }
  for (const auto& one : submitted) {
    const auto status = device_outcome(one);
    CHECK(status.code() == Code::kMismatch);
    CHECK(contains(status.report(), "float32 x 5, sum"));
  }
}

TEST_CASE("a rank that does not come is waited for no longer than the call allows") {
  auto group = device_group(2);
  Memory memory(2);
  const auto status =
      device_outcome(group->ranks[0]->submit(sum_of(memory.places[0], 4, 0.3), memory.benches[0]->stream()));
  CHECK(status.code() == Code::kCollectiveTimeout);
  CHECK(status.rank() == 1);
}

TEST_CASE("what ends the host ring ends the device's collectives, on every rank") {
  for (const char* mode : {"nccl", "staged"}) {
    auto group = device_group(3, mode);
    Memory memory(3);
    std::vector<DeviceCommunicator::Submitted> waiting;
    for (std::size_t rank = 0; rank < 2; ++rank) {
      waiting.push_back(
          group->ranks[rank]->submit(sum_of(memory.places[rank]), memory.benches[rank]->stream()));
    }
    group->host[2].fail({Code::kPeerLost, "rank 2 is gone", 2, "host-c"});
    for (const auto& one : waiting) {
      const auto status = device_outcome(one);
      CHECK(status.code() == Code::kPeerLost);
      CHECK(status.rank() == 2);
      CHECK(contains(status.report(), "rank 2 is gone"));
    }
  }
}

TEST_CASE("a rank that has no memory for staging tells the others") {
  auto group = device_group(2, "staged");
  Memory memory(2);
  const Setting fail("FAKE_CUDA_FAIL", "cuMemHostAlloc:1:2");
  bool told = false;
  for (const auto& status : sum_on_all(*group, memory)) {
    CHECK(status.code() == Code::kSystem);
    told = told || contains(status.report(), "out of memory");
  }
  CHECK(told);
}

TEST_CASE("a stream that is being captured is refused") {
  auto group = device_group(1);
  Memory memory(1);
  const Setting capturing("FAKE_CUDA_CAPTURING", "1");
  const auto refused = group->ranks[0]->submit(sum_of(memory.places[0]), nullptr);
  CHECK(refused.status().code() == Code::kInvalidArgument);
  CHECK(contains(refused.status().message(), "CUDA graph"));
}

TEST_CASE("closing waits for what is queued, and a closed communicator refuses") {
  auto group = device_group(2);
  Memory memory(2);
  const Setting delay("FAKE_CUDA_DELAY_US", "20000");
  std::vector<DeviceCommunicator::Submitted> submitted;
  for (std::size_t rank = 0; rank < 2; ++rank) {
    submitted.push_back(
        group->ranks[rank]->submit(sum_of(memory.places[rank]), memory.benches[rank]->stream()));
  }
  on_threads(2, [&](int rank) { CHECK(group->ranks[static_cast<std::size_t>(rank)]->close(kPatience)); });
  for (const auto& one : submitted) CHECK(device_outcome(one));
  CHECK(contains(group->ranks[0]->submit(sum_of(memory.places[0]), nullptr).status().message(), "closed"));
}

}  // namespace
