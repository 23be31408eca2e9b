// reducescatter, allgather, broadcast, alltoall and barrier inside a host, over each of their ways.
#include <doctest/doctest.h>

#include <vector>  // for vector

#include "local_ranks.h"
#include "values.h"

namespace {

using namespace ring;
using namespace ring::testing;
using backend::Call;

using Bytes8 = std::vector<std::byte>;

// Buffers private to each rank, or in windows.
class Buffers {
 public:
  Buffers(LocalRanks& ranks, bool registered, std::size_t bytes) : ranks_(ranks), windows_(by_rank()) {
    memory_.assign(by_rank(), Bytes8(registered ? 0 : bytes));
    if (!registered) return;
    CHECK(ranks.all_ok([&](algo::Local& local, std::size_t index) -> Status {
      const TextAgreement what("allocate");
      auto window = local.allocate(bytes, {what, kLocalPatience});
      if (window) windows_[index] = std::move(window).value();
      return window.status();
    }));
  }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;
  ~Buffers() {
    for (std::size_t index = 0; index < by_rank(); ++index) ranks_.local(index).release(windows_[index]);
  }
  [[nodiscard]] std::byte* of(std::size_t index) {
    return windows_[index].address != nullptr ? windows_[index].address : memory_[index].data();
  }

 private:
  [[nodiscard]] std::size_t by_rank() const { return static_cast<std::size_t>(ranks_.size()); }
  LocalRanks& ranks_;
  std::vector<algo::Window> windows_;
  std::vector<Bytes8> memory_;
};

std::byte byte_at(std::size_t rank, std::size_t index) {
  return static_cast<std::byte>((rank * 37 + index * 7 + index / 251) & 0xff);
}

void fill(std::byte* data, std::size_t rank, std::size_t bytes, std::size_t from = 0) {
  for (std::size_t i = 0; i < bytes; ++i) data[i] = byte_at(rank, from + i);
}

std::size_t count_other(const std::byte* data, std::size_t rank, std::size_t bytes, std::size_t from = 0) {
  std::size_t other = 0;
  for (std::size_t i = 0; i < bytes; ++i) other += data[i] != byte_at(rank, from + i);
  return other;
}

plan::Parts uneven_parts(int size, std::uint64_t scale) {
  std::vector<std::uint64_t> counts;
  for (int i = 0; i < size; ++i) counts.push_back(static_cast<std::uint64_t>(size - 1 - i) * scale);
  counts.back() += scale / 2;
  return plan::parts_of(counts);
}

struct Reduce {
  DType dtype;
  ReduceOp op;
  bool wide;
};

double wide_value(const Array& out, DType accumulator, std::size_t index) {
  if (accumulator != DType::kInt128) return out.get(index);
  __int128 value = 0;
  std::memcpy(&value, out.data() + index * 16, 16);
  return static_cast<double>(value);
}

int count_wrong(const Array& out, const Reduce& reduce, int size, std::uint64_t offset) {
  const DType kept = reduce.wide ? kernel::accumulator(reduce.dtype, reduce.op) : reduce.dtype;
  const ReduceOp op = reduce.wide && reduce.op == ReduceOp::kMean ? ReduceOp::kSum : reduce.op;
  const double factor = reduce.wide ? kernel::scaling_of(reduce.dtype, reduce.op, size, 1, 1).pre : 1;
  int wrong = 0;
  for (std::size_t i = 0; i < out.count(); ++i) {
    const double expected = factor * expected_at(reduce.dtype, op, size, offset + i);
    wrong += !is_near(kept, wide_value(out, kept, i), expected);
  }
  return wrong;
}

void check_reducescatter(LocalRanks& ranks, const Reduce& reduce, const plan::Parts& parts, bool registered) {
  const std::uint64_t total = plan::total(parts);
  const std::size_t element = size_of(reduce.dtype);
  Buffers send(ranks, registered, total * element);
  const DType kept = reduce.wide ? kernel::accumulator(reduce.dtype, reduce.op) : reduce.dtype;
  std::vector<Array> out;
  for (const auto& part : parts) out.emplace_back(kept, part.count);
  CHECK(ranks.all_ok([&](algo::Local& local, std::size_t index) {
    const Array given = filled(reduce.dtype, reduce.op, static_cast<int>(index), total);
    std::copy(given.data(), given.data() + total * element, send.of(index));
    const auto scaling = kernel::scaling_of(reduce.dtype, reduce.op, ranks.size(), 1, 1);
    const TextAgreement what("reducescatter");
    return local.reducescatter({send.of(index), nullptr, reduce.dtype, reduce.op}, scaling, parts,
                               reduce.wide, out[index].data(), {what, kLocalPatience});
  }));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    CHECK(count_wrong(out[i], reduce, ranks.size(), parts[i].offset) == 0);
  }
}

void check_allgather(LocalRanks& ranks, const plan::Parts& parts, bool registered) {
  const std::size_t total = plan::total(parts);
  Buffers data(ranks, registered, total);
  CHECK(ranks.all_ok([&](algo::Local& local, std::size_t index) {
    fill(data.of(index) + parts[index].offset, index, parts[index].count);
    const TextAgreement what("allgather");
    return local.allgather(data.of(index), parts, {what, kLocalPatience});
  }));
  for (std::size_t reader = 0; reader < parts.size(); ++reader) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      CHECK(count_other(data.of(reader) + parts[i].offset, i, parts[i].count) == 0);
    }
  }
}

void check_broadcast(LocalRanks& ranks, std::size_t bytes, int root, bool registered) {
  Buffers data(ranks, registered, bytes);
  const auto from = static_cast<std::size_t>(root);
  CHECK(ranks.all_ok([&](algo::Local& local, std::size_t index) {
    fill(data.of(index), index + 1000 * (index != from), bytes);
    const TextAgreement what("broadcast");
    return local.broadcast(MutableBytes(data.of(index), bytes), root, {what, kLocalPatience});
  }));
  for (std::size_t i = 0; i < static_cast<std::size_t>(ranks.size()); ++i) {
    CHECK(count_other(data.of(i), from, bytes) == 0);
  }
}

// From i to j: a length that differs for each pair.
std::uint64_t pair_bytes(std::size_t from, std::size_t to, std::size_t scale) {
  return scale * ((from + 2 * to) % 4) / 3;
}

void check_alltoall(LocalRanks& ranks, std::size_t scale, bool registered) {
  const auto size = static_cast<std::size_t>(ranks.size());
  Buffers send(ranks, registered, scale * size);
  Buffers recv(ranks, false, scale * size);
  CHECK(ranks.all_ok([&](algo::Local& local, std::size_t index) -> Status {
    std::vector<std::uint64_t> out;
    std::vector<std::uint64_t> in;
    for (std::size_t peer = 0; peer < size; ++peer) {
      out.push_back(pair_bytes(index, peer, scale));
      in.push_back(pair_bytes(peer, index, scale));
    }
    const auto out_parts = plan::parts_of(out);
    const auto in_parts = plan::parts_of(in);
    for (std::size_t peer = 0; peer < size; ++peer) {
      fill(send.of(index) + out_parts[peer].offset, index, out[peer], 1000 * peer);
    }
    const TextAgreement what("alltoall");
    RING_TRY(local.alltoall(send.of(index), out_parts, recv.of(index), in_parts, {what, kLocalPatience}));
    for (std::size_t peer = 0; peer < size; ++peer) {
      if (count_other(recv.of(index) + in_parts[peer].offset, peer, in[peer], 1000 * index) > 0) {
        return {Code::kInternal, "wrong bytes from " + std::to_string(peer)};
      }
    }
    return {};
  }));
}

TEST_CASE("reducescatter into the type itself and into its accumulator") {
  for (const int size : {1, 2, 3, 7}) {
    LocalRanks ranks(size);
    for (const std::uint64_t scale : {2, 1000, 30'000}) {
      for (const bool registered : {false, true}) {
        const auto parts = uneven_parts(size, scale);
        check_reducescatter(ranks, {DType::kFloat32, ReduceOp::kSum, false}, parts, registered);
        check_reducescatter(ranks, {DType::kFloat16, ReduceOp::kMean, true}, parts, registered);
      }
    }
  }
}

TEST_CASE("reducescatter of every accumulator") {
  LocalRanks ranks(3);
  for (const DType dtype : {DType::kUint8, DType::kInt32, DType::kInt64, DType::kUint64, DType::kBFloat16,
                            DType::kFloat32, DType::kFloat64}) {
    for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMean, ReduceOp::kMin}) {
      for (const bool wide : {false, true}) {
        check_reducescatter(ranks, {dtype, op, wide}, uneven_parts(3, 20'000), false);
      }
    }
  }
}

TEST_CASE("parts may lie anywhere in the buffer") {
  LocalRanks ranks(3);
  const plan::Parts parts{{90'000, 10'001}, {5, 7}, {20'000, 40'000}};
  const std::uint64_t total = 110'000;
  std::vector<Array> out;
  for (const auto& part : parts) out.emplace_back(DType::kFloat32, part.count);
  CHECK(ranks.all_ok([&](algo::Local& local, std::size_t index) {
    const Array given = filled(DType::kFloat32, ReduceOp::kSum, static_cast<int>(index), total);
    const TextAgreement what("reducescatter");
    return local.reducescatter({given.data(), nullptr, DType::kFloat32, ReduceOp::kSum}, {}, parts, false,
                               out[index].data(), {what, kLocalPatience});
  }));
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(count_wrong(out[i], {DType::kFloat32, ReduceOp::kSum, false}, 3, parts[i].offset) == 0);
  }
}

TEST_CASE("allgather, broadcast and alltoall of sizes around every border") {
  for (const int size : {1, 2, 3, 4, 7}) {
    LocalRanks ranks(size);
    for (const bool registered : {false, true}) {
      for (const std::size_t scale : {0, 1, 40, 48, 49, 3000, 65'536, 65'537, 300'000}) {
        check_allgather(ranks, uneven_parts(size, scale), registered);
        check_broadcast(ranks, scale, size - 1, registered);
        check_alltoall(ranks, scale, registered);
      }
    }
  }
}

TEST_CASE("slots are given back in every order of collectives") {
  LocalRanks ranks(3);
  for (int round = 0; round < 6; ++round) {
    check_broadcast(ranks, 150'000 + 64'000 * static_cast<std::size_t>(round), round % 3, false);
    check_reducescatter(ranks, {DType::kFloat32, ReduceOp::kSum, false}, uneven_parts(3, 20'000), false);
    check_allgather(ranks, uneven_parts(3, 200'000), false);
    check_alltoall(ranks, 200'000, false);
  }
}

TEST_CASE("nobody leaves a barrier before all have come") {
  LocalRanks ranks(4);
  std::atomic<int> come{0};
  CHECK(ranks.all_ok([&](algo::Local& local, std::size_t) -> Status {
    const TextAgreement what("barrier");
    for (int round = 1; round <= 50; ++round) {
      ++come;
      RING_TRY(local.barrier({what, kLocalPatience}));
      if (come.load() < 4 * round) return {Code::kInternal, "too early"};
    }
    return {};
  }));
}

}  // namespace
