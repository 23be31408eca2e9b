// allreduce inside a host, over each of its ways, against a float64 reference.
#include <doctest/doctest.h>

#include <vector>  // for vector

#include "local_ranks.h"
#include "values.h"

namespace {

using namespace ring;
using namespace ring::testing;

constexpr DType kTypes[] = {DType::kUint8,   DType::kInt8,     DType::kInt16,   DType::kUint16,
                            DType::kInt32,   DType::kUint32,   DType::kInt64,   DType::kUint64,
                            DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64};
constexpr ReduceOp kOps[] = {ReduceOp::kSum, ReduceOp::kMean, ReduceOp::kMin, ReduceOp::kMax,
                             ReduceOp::kProduct};

struct Case {
  DType dtype;
  ReduceOp op;
  std::size_t count;
};

int count_wrong(const Array& result, const Case& one, int size) {
  int wrong = 0;
  for (std::size_t i = 0; i < result.count(); ++i) {
    wrong += !is_near(one.dtype, result.get(i), expected_at(one.dtype, one.op, size, i));
  }
  return wrong;
}

void check_results(const std::vector<Array>& results, const Case& one) {
  CAPTURE(name_of(one.dtype));
  CAPTURE(name_of(one.op));
  CAPTURE(one.count);
  CHECK(count_wrong(results[0], one, static_cast<int>(results.size())) == 0);
  for (const auto& result : results) CHECK(result == results[0]);  // the same bits on all ranks
}

Status reduce(algo::Local& local, const std::byte* send, std::byte* recv, const Case& one, int size) {
  const TextAgreement what("allreduce");
  const auto scaling = kernel::scaling_of(one.dtype, one.op, size, 1, 1);
  return local.allreduce({send, recv, one.dtype, one.op}, scaling, one.count, {what, kLocalPatience});
}

void check_private(LocalRanks& ranks, const Case& one) {
  std::vector<Array> given;
  std::vector<Array> out;
  for (int rank = 0; rank < ranks.size(); ++rank) {
    given.push_back(filled(one.dtype, one.op, rank, one.count));
    out.emplace_back(one.dtype, one.count);
  }
  auto in_place = given;
  CHECK(ranks.all_ok([&](algo::Local& local, std::size_t index) {
    RING_TRY(reduce(local, given[index].data(), out[index].data(), one, ranks.size()));
    return reduce(local, in_place[index].data(), in_place[index].data(), one, ranks.size());
  }));
  check_results(out, one);
  for (std::size_t index = 0; index < out.size(); ++index) {
    CHECK(in_place[index] == out[0]);
    CHECK(given[index] == filled(one.dtype, one.op, static_cast<int>(index), one.count));
  }
}

// The same with buffers in windows: one for the values, one for the result, then in place.
void check_registered(LocalRanks& ranks, const Case& one) {
  const std::size_t bytes = one.count * size_of(one.dtype);
  std::vector<Array> out(static_cast<std::size_t>(ranks.size()), Array(one.dtype, one.count));
  auto in_place = out;
  CHECK(ranks.all_ok([&](algo::Local& local, std::size_t index) -> Status {
    const TextAgreement what("allocate");
    const backend::Call call{what, kLocalPatience};
    auto send = local.allocate(bytes, call);
    if (!send) return send.status();
    auto recv = local.allocate(bytes + 64, call);
    if (!recv) return recv.status();
    const Array given = filled(one.dtype, one.op, static_cast<int>(index), one.count);
    std::copy(given.data(), given.data() + bytes, send.value().address);
    RING_TRY(reduce(local, send.value().address, recv.value().address + 64, one, ranks.size()));
    std::copy(recv.value().address + 64, recv.value().address + 64 + bytes, out[index].data());
    RING_TRY(reduce(local, send.value().address, send.value().address, one, ranks.size()));
    std::copy(send.value().address, send.value().address + bytes, in_place[index].data());
    local.release(send.value());
    local.release(recv.value());
    return {};
  }));
  check_results(out, one);
  for (const auto& result : in_place) CHECK(result == out[0]);
}

TEST_CASE("allreduce of every type and operation") {
  LocalRanks ranks(3);
  for (const DType dtype : kTypes) {
    for (const ReduceOp op : kOps) {
      for (const std::size_t bytes : {12, 1000, 70'000})
        check_private(ranks, {dtype, op, bytes / size_of(dtype)});
    }
  }
}

TEST_CASE("allreduce of every type between registered buffers") {
  LocalRanks ranks(3);
  for (const DType dtype : kTypes) {
    for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMean}) {
      check_registered(ranks, {dtype, op, 70'000 / size_of(dtype)});
    }
  }
}

TEST_CASE("allreduce of sizes around every border") {
  for (const int size : {1, 2, 4, 7}) {
    LocalRanks ranks(size);
    for (const std::size_t count : {0, 1, 11, 12, 13, 16383, 16384, 16385, 16400, 50'001, 130'000}) {
      check_private(ranks, {DType::kFloat32, ReduceOp::kSum, count});
    }
    check_private(ranks, {DType::kFloat16, ReduceOp::kMean, 70'001});
    check_private(ranks, {DType::kUint8, ReduceOp::kMax, 300'007});
    for (const std::size_t count : {1, 8192, 16385, 50'001, 130'000}) {
      check_registered(ranks, {DType::kFloat32, ReduceOp::kSum, count});
    }
  }
}

TEST_CASE("collectives that take different ways follow one another without a barrier") {
  LocalRanks ranks(2);
  CHECK(ranks.all_ok([&](algo::Local& local, std::size_t index) -> Status {
    for (std::size_t round = 0; round < 60; ++round) {
      const std::size_t count = round % 3 == 0 ? 5 : round % 3 == 1 ? 3000 : 40'000 + round;
      std::vector<float> values(count, static_cast<float>(index + round));
      auto* data = reinterpret_cast<std::byte*>(values.data());
      RING_TRY(reduce(local, data, data, {DType::kFloat32, ReduceOp::kSum, count}, 2));
      for (const float value : values) {
        if (value != static_cast<float>(2 * round + 1)) return {Code::kInternal, "a wrong sum"};
      }
    }
    return {};
  }));
}

TEST_CASE("a registered buffer is used only when all ranks have one") {
  LocalRanks ranks(3);
  const Case one{DType::kFloat32, ReduceOp::kSum, 50'000};
  std::vector<Array> out(3, Array(one.dtype, one.count));
  CHECK(ranks.all_ok([&](algo::Local& local, std::size_t index) -> Status {
    const TextAgreement what("allocate");
    auto window = local.allocate(one.count * 4, {what, kLocalPatience});
    if (!window) return window.status();
    const Array given = filled(one.dtype, one.op, static_cast<int>(index), one.count);
    std::copy(given.data(), given.data() + one.count * 4, window.value().address);
    const std::byte* send = index == 1 ? given.data() : window.value().address;
    RING_TRY(reduce(local, send, out[index].data(), one, 3));
    local.release(window.value());
    return {};
  }));
  check_results(out, one);
}

TEST_CASE("the probe chooses one kind of stores for all and for later groups") {
  auto options = small_segment(2);
  LocalRanks ranks(options, {});
  check_private(ranks, {DType::kFloat32, ReduceOp::kSum, 300'000});
  CHECK(ranks.local(0).stats().slot_stores == ranks.local(1).stats().slot_stores);
}

}  // namespace
