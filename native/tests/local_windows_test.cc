// Registered memory: allocated, adopted from others' allocators, pulled away beneath us, released.
#include <doctest/doctest.h>
#include <sys/mman.h>      // for mmap
#include <sys/resource.h>  // for setrlimit
#include <sys/stat.h>      // for fstat

#include <cstdlib>  // for malloc
#include <vector>   // for vector

#include "local_ranks.h"
#include "ring/shm/adopt.h"

namespace {

using namespace ring;
using namespace ring::testing;

constexpr std::size_t kCount = 100'000;
constexpr std::size_t kBytes = kCount * sizeof(float);

struct Freed {
  void operator()(float* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<float, Freed>;

// Not on a page border, and elsewhere within its page on each rank.
struct Bucket {
  explicit Bucket(std::size_t index) : memory(static_cast<float*>(std::malloc(kBytes + 8192))) {
    data = memory.get() + 25 * (index + 1);
  }
  Memory memory;
  float* data;
  [[nodiscard]] std::byte* bytes() const { return reinterpret_cast<std::byte*>(data); }
};

void fill(float* data, std::size_t index) {
  for (std::size_t i = 0; i < kCount; ++i) data[i] = static_cast<float>((i + index) % 100);
}

std::size_t count_wrong(const float* data, std::size_t size) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    float sum = 0;
    for (std::size_t rank = 0; rank < size; ++rank) sum += static_cast<float>((i + rank) % 100);
    wrong += data[i] != sum;
  }
  return wrong;
}

Status sum_in_place(algo::Local& local, float* data) {
  const TextAgreement what("allreduce");
  auto* bytes = reinterpret_cast<std::byte*>(data);
  return local.allreduce({bytes, bytes, DType::kFloat32, ReduceOp::kSum}, {}, kCount, {what, kLocalPatience});
}

Result<algo::Window> adopt(algo::Local& local, const Bucket& bucket) {
  const TextAgreement what("adopt");
  return local.adopt(bucket.bytes(), kBytes, {what, kLocalPatience});
}

Status wrong_if(std::size_t wrong) {
  return wrong == 0 ? Status::ok() : Status(Code::kInternal, std::to_string(wrong) + " wrong values");
}

TEST_CASE("an adopted buffer keeps its contents, is reduced in place and can be freed") {
  for (const int size : {1, 2, 3}) {
    LocalRanks ranks(size);
    CHECK(ranks.all_ok([&](algo::Local& local, std::size_t index) -> Status {
      Bucket bucket(index);
      fill(bucket.data, index);
      auto window = adopt(local, bucket);
      if (!window) return window.status();
      for (int round = 0; round < 3; ++round) {
        if (round > 0) fill(bucket.data, index);
        RING_TRY(sum_in_place(local, bucket.data));
        RING_TRY(wrong_if(count_wrong(bucket.data, static_cast<std::size_t>(size))));
      }
      local.release(window.value());
      RING_TRY(wrong_if(count_wrong(bucket.data, static_cast<std::size_t>(size))));
      fill(bucket.data, index);
      RING_TRY(sum_in_place(local, bucket.data));  // private again
      return wrong_if(count_wrong(bucket.data, static_cast<std::size_t>(size)));
    }));
    for (std::size_t i = 0; i < static_cast<std::size_t>(size); ++i) {
      CHECK(ranks.local(i).stats().stale_windows == 0);
    }
  }
}

TEST_CASE("an adopted buffer outlives its group") {
  Bucket buckets[2] = {Bucket(0), Bucket(1)};
  {
    LocalRanks ranks(2);
    CHECK(ranks.all_ok([&](algo::Local& local, std::size_t index) -> Status {
      fill(buckets[index].data, index);
      RING_TRY(adopt(local, buckets[index]).status());
      return sum_in_place(local, buckets[index].data);
    }));
  }
  for (const auto& bucket : buckets) {
    CHECK(count_wrong(bucket.data, 2) == 0);
    fill(bucket.data, 0);
  }
}

TEST_CASE("a buffer whose pages were taken away goes through the slots, and it is said") {
  LocalRanks ranks(2);
  CHECK(ranks.all_ok([&](algo::Local& local, std::size_t index) -> Status {
    void* memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    auto* data = static_cast<float*>(memory);
    const TextAgreement what("adopt");
    auto window = local.adopt(static_cast<std::byte*>(memory), kBytes, {what, kLocalPatience});
    if (!window) return window.status();
    if (index == 0) {  // freed and allocated anew, at the same address
      ::mmap(memory, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    }
    fill(data, index);
    RING_TRY(sum_in_place(local, data));
    const Status result = wrong_if(count_wrong(data, 2));
    local.release(window.value());
    ::munmap(memory, kBytes);
    return result;
  }));
  CHECK(ranks.local(0).stats().stale_windows == 1);
  CHECK(ranks.local(1).stats().stale_windows == 0);
}

TEST_CASE("released after its memory is gone, a window harms nobody") {
  LocalRanks ranks(2);
  CHECK(ranks.all_ok([&](algo::Local& local, std::size_t) -> Status {
    void* memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const TextAgreement what("adopt");
    auto window = local.adopt(static_cast<std::byte*>(memory), kBytes, {what, kLocalPatience});
    if (!window) return window.status();
    ::munmap(memory, kBytes);
    local.release(window.value());
    return local.barrier({what, kLocalPatience});
  }));
}

TEST_CASE("what cannot be adopted is refused on all ranks, and the group goes on") {
  LocalRanks ranks(2);
  std::vector<float> stack(16);
  const auto outcomes = ranks.on_all([&](algo::Local& local, std::size_t index) -> Status {
    Bucket bucket(index);
    const TextAgreement what("adopt");
    const backend::Call call{what, kLocalPatience};
    if (index == 0) return adopt(local, bucket).status();
    return local.adopt(reinterpret_cast<std::byte*>(stack.data()), 64, call).status();
  });
  CHECK(outcomes[0].code() == Code::kSystem);
  CHECK(outcomes[0].rank() == 1);
  CHECK(outcomes[1].code() == Code::kInvalidArgument);
  CHECK(ranks.all_ok([&](algo::Local& local, std::size_t index) {
    Bucket bucket(index);
    fill(bucket.data, index);
    RING_TRY(sum_in_place(local, bucket.data));
    return wrong_if(count_wrong(bucket.data, 2));
  }));
}

TEST_CASE("of memory that is shared in place no part is adopted again before it is released") {
  LocalRanks ranks(2);
  CHECK(ranks.all_ok([&](algo::Local& local, std::size_t index) -> Status {
    const TextAgreement what("adopt");
    const backend::Call call{what, kLocalPatience};
    Bucket bucket(index);
    auto whole = adopt(local, bucket);
    if (!whole) return whole.status();
    const std::size_t half = kBytes / 2 / 4096 * 4096;
    if (local.adopt(bucket.bytes() + half, kBytes - half, call)) return {Code::kInternal, "adopted twice"};
    fill(bucket.data, index);
    RING_TRY(sum_in_place(local, bucket.data));
    RING_TRY(wrong_if(count_wrong(bucket.data, 2)));
    local.release(whole.value());
    return local.adopt(bucket.bytes() + half, kBytes - half, call).status();
  }));
}

TEST_CASE("only ordinary private memory is adoptable") {
  std::vector<std::byte> heap(200'000);
  const Status ordinary = shm::check_adoptable(heap.data(), heap.size());
  CHECK_MESSAGE(ordinary, ordinary.message());
  void* shared = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK_FALSE(shm::check_adoptable(static_cast<std::byte*>(shared), kBytes));
  void* fixed = ::mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK_FALSE(shm::check_adoptable(static_cast<std::byte*>(fixed), kBytes));
  ::munmap(fixed, kBytes);
  CHECK_FALSE(shm::check_adoptable(static_cast<std::byte*>(fixed), kBytes));
  ::munmap(shared, kBytes);
}

TEST_CASE("a buffer on what an earlier adoption left behind is adopted again; a window itself is not") {
  Bucket buckets[2] = {Bucket(0), Bucket(1)};
  for (int round = 0; round < 3; ++round) {
    LocalRanks ranks(2);
    CHECK(ranks.all_ok([&](algo::Local& local, std::size_t index) -> Status {
      fill(buckets[index].data, index);
      RING_TRY(adopt(local, buckets[index]).status());
      RING_TRY(sum_in_place(local, buckets[index].data));
      return wrong_if(count_wrong(buckets[index].data, 2));
    }));
    const auto outcomes = ranks.on_all([&](algo::Local& local, std::size_t) -> Status {
      const TextAgreement what("windows");
      auto window = local.allocate(kBytes, {what, kLocalPatience});
      if (!window) return window.status();
      return local.adopt(window.value().address, kBytes, {what, kLocalPatience}).status();
    });
    CHECK(outcomes[0].code() == Code::kInvalidArgument);
  }
}

TEST_CASE("windows that one rank has no memory for are refused on all, and cost nothing") {
  auto options = small_segment(2);
  options.address_space_bytes = 64 << 20;
  LocalRanks ranks(options, unprobed());
  const TextAgreement what("allocate");
  for (int round = 0; round < 3; ++round) {
    const auto outcomes = ranks.on_all([&](algo::Local& local, std::size_t index) {
      return local.allocate(index == 0 ? 1 << 20 : 1 << 30, {what, kLocalPatience}).status();
    });
    CHECK(outcomes[0].code() == Code::kSystem);
    CHECK(outcomes[0].rank() == 1);
    CHECK(outcomes[1].code() == Code::kSystem);
  }
  CHECK(ranks.all_ok([&](algo::Local& local, std::size_t) -> Status {
    for (int round = 0; round < 50; ++round) {  // far more than there is at once
      auto window = local.allocate(4 << 20, {what, kLocalPatience});
      if (!window) return window.status();
      window.value().address[0] = std::byte{1};
      local.release(window.value());
    }
    return {};
  }));
}

TEST_CASE("a window keeps its memory mapped when the group is gone") {
  algo::Window windows[2];
  {
    LocalRanks ranks(2);
    const TextAgreement what("allocate");
    CHECK(ranks.all_ok([&](algo::Local& local, std::size_t index) {
      auto window = local.allocate(kBytes, {what, kLocalPatience});
      if (window) windows[index] = window.value();
      return window.status();
    }));
  }
  for (const auto& window : windows) {
    auto* data = reinterpret_cast<float*>(window.address);
    fill(data, 3);
    CHECK(data[7] == 10);
  }
}

}  // namespace
