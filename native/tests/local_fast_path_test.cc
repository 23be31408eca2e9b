// Nothing inside a host allocates once it runs. Counted by thread, for all of this program.
#include <doctest/doctest.h>

#include <array>   // for array
#include <vector>  // for vector

#include "allocations.h"
#include "local_ranks.h"

namespace {

using namespace ring;
using namespace ring::testing;

struct Work {
  std::vector<float> values;
  plan::Parts parts;
  plan::Parts bytes;
  TextAgreement what{"fast"};
};

// One of each collective.
Status run_all(algo::Local& local, Work& work, std::size_t index) {
  const backend::Call call{work.what, kLocalPatience};
  auto* data = reinterpret_cast<std::byte*>(work.values.data());
  const std::size_t count = work.values.size() / 2;
  const std::size_t half = count / 2 * sizeof(float);
  const backend::Reduction sum{data, data, DType::kFloat32, ReduceOp::kSum};
  RING_TRY(local.allreduce(sum, {}, count, call));
  RING_TRY(local.reducescatter(sum, {}, work.parts, false, data + index * half, call));
  RING_TRY(local.allgather(data, work.bytes, call));
  RING_TRY(local.broadcast(MutableBytes(data, 2 * half), 1, call));
  RING_TRY(local.alltoall(data, work.bytes, data + 2 * half, work.bytes, call));
  return local.barrier(call);
}

TEST_CASE("collectives of every size allocate nothing after the first of their kind") {
  LocalRanks ranks(2);
  for (const std::size_t count : {8, 3000, 12'000, 500'000}) {
    std::array<Work, 2> work;
    for (auto& one : work) {
      one.values.assign(2 * count, 1);  // the second half for what alltoall brings
      one.parts = plan::parts_of({count / 2, count / 2});
      one.bytes = plan::parts_of({2 * count, 2 * count});
    }
    CHECK(ranks.all_ok([&](algo::Local& local, std::size_t index) -> Status {
      RING_TRY(run_all(local, work[index], index));
      const std::size_t before = allocations_of_this_thread();
      for (int round = 0; round < 10; ++round) RING_TRY(run_all(local, work[index], index));
      const std::size_t more = allocations_of_this_thread() - before;
      if (more > 0) return {Code::kInternal, std::to_string(more) + " allocations"};
      return {};
    }));
  }
}

}  // namespace
