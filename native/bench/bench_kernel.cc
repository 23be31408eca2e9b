// Speed of the kernels by operation, type, instruction set, stores and size, as CSV. One thread; the variants
// of one size take turns, so that a busy machine treats them alike. GB/s counts the bytes of one buffer of
// the widest type. usage: bench_kernel [rounds=15] [bytes, default several]
#include <algorithm>  // for nth_element
#include <chrono>     // for steady_clock
#include <cstdio>     // for printf
#include <cstdlib>    // for atoi, strtoull
#include <cstring>    // for memcpy
#include <string>     // for string
#include <vector>     // for vector

#include "ring/kernel/instructions.h"
#include "ring/kernel/reduce.h"

namespace {

using namespace ring;
using kernel::Stores;
using Clock = std::chrono::steady_clock;

enum class What { kCopy, kSum2, kSum4, kMean3, kMax2, kFold, kConvert };

struct Variant {
  What what;
  const char* name;
  DType dtype;
  Stores stores;
  std::string set;
  std::vector<double> seconds;
};

// Inputs and output of one size. Random bits would be slow where they are subnormal, so all values are 1.
class Memory {
 public:
  explicit Memory(std::size_t bytes) : bytes_(bytes), buffers_(6, std::vector<std::byte>(bytes)) {
    for (const auto& buffer : buffers_) inputs_.push_back(buffer.data());
  }

  void fill(DType dtype) {
    const float one = 1;
    const double longer = 1;
    std::vector<std::byte> value(size_of(dtype));
    if (dtype == DType::kFloat64) std::memcpy(value.data(), &longer, 8);
    if (dtype == DType::kFloat32) std::memcpy(value.data(), &one, 4);
    if (dtype == DType::kBFloat16 || dtype == DType::kFloat16) {
      kernel::convert(DType::kFloat32, dtype, reinterpret_cast<const std::byte*>(&one), value.data(), 1);
    }
    if (!is_floating(dtype)) value[0] = std::byte{1};
    for (auto& buffer : buffers_) {
      for (std::size_t i = 0; i + value.size() <= bytes_; i += value.size()) {
        std::memcpy(buffer.data() + i, value.data(), value.size());
      }
    }
  }

  void run(const Variant& variant) {
    const std::size_t count = bytes_ / size_of(variant.dtype);
    std::byte* out = buffers_[4].data();
    const auto combine = [&](ReduceOp op, int num) {
      kernel::combine(variant.dtype, op, inputs_.data(), num, out, count,
                      kernel::scaling_of(variant.dtype, op, num, 1, 1), variant.stores);
    };
    const DType wide = kernel::accumulator(variant.dtype, ReduceOp::kSum);
    switch (variant.what) {
      case What::kCopy:
        return kernel::copy(inputs_[0], out, bytes_, variant.stores);
      case What::kSum2:
        return combine(ReduceOp::kSum, 2);
      case What::kSum4:
        return combine(ReduceOp::kSum, 4);
      case What::kMean3:
        return combine(ReduceOp::kMean, 3);
      case What::kMax2:
        return combine(ReduceOp::kMax, 2);
      case What::kFold:
        return kernel::fold(wide, variant.dtype, ReduceOp::kSum, inputs_[0], inputs_[1], 1, out,
                            bytes_ / size_of(wide));
      case What::kConvert:
        return kernel::convert(DType::kFloat32, variant.dtype, inputs_[0], out, bytes_ / 4);
    }
  }

 private:
  std::size_t bytes_;
  std::vector<std::vector<std::byte>> buffers_;
  std::vector<const std::byte*> inputs_;
};

struct Row {
  What what;
  const char* name;
  std::vector<DType> dtypes;
  bool streams;
};

std::vector<Variant> variants() {
  const std::vector<DType> real{DType::kFloat32, DType::kFloat16, DType::kBFloat16, DType::kFloat64};
  const std::vector<DType> all{DType::kFloat32, DType::kFloat16, DType::kBFloat16, DType::kFloat64,
                               DType::kInt8,    DType::kInt16,   DType::kInt32,    DType::kInt64};
  const Row rows[] = {{What::kCopy, "copy", {DType::kUint8}, true},
                      {What::kSum2, "sum2", all, true},
                      {What::kSum4, "sum4", real, false},
                      {What::kMean3, "mean3", all, false},
                      {What::kMax2, "max2", real, false},
                      {What::kFold, "fold", real, false},
                      {What::kConvert, "convert", {DType::kFloat16, DType::kBFloat16}, false}};
  std::vector<Variant> made;
  for (const auto& row : rows) {
    for (const auto dtype : row.dtypes) {
      for (const auto* set : kernel::instruction_sets()) {
        made.push_back({row.what, row.name, dtype, Stores::kPlain, set, {}});
        if (row.streams) made.push_back({row.what, row.name, dtype, Stores::kStreaming, set, {}});
      }
    }
  }
  return made;
}

double seconds_of(Memory& memory, const Variant& variant, int repeats) {
  if (!kernel::set_instruction_set(variant.set)) return 0;
  const auto start = Clock::now();
  for (int i = 0; i < repeats; ++i) memory.run(variant);
  return std::chrono::duration<double>(Clock::now() - start).count() / repeats;
}

void measure(std::size_t bytes, int rounds) {
  Memory memory(bytes);
  auto all = variants();
  const int repeats = static_cast<int>(std::max<std::size_t>(1, (1U << 20) / bytes));
  for (const auto dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16, DType::kFloat64, DType::kInt8,
                           DType::kInt16, DType::kInt32, DType::kInt64, DType::kUint8}) {
    memory.fill(dtype);
    for (int round = 0; round < rounds; ++round) {
      for (auto& variant : all) {
        if (variant.dtype == dtype) variant.seconds.push_back(seconds_of(memory, variant, repeats));
      }
    }
  }
  for (auto& variant : all) {
    const auto middle = variant.seconds.begin() + rounds / 2;
    std::nth_element(variant.seconds.begin(), middle, variant.seconds.end());
    std::printf("%s,%s,%s,%s,%zu,%.2f\n", variant.name, name_of(variant.dtype), variant.set.c_str(),
                variant.stores == Stores::kPlain ? "plain" : "streaming", bytes,
                static_cast<double>(bytes) / *middle / 1e9);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 15;
  std::printf("op,dtype,isa,stores,bytes,GB_per_s\n");
  if (argc > 2) {
    measure(std::strtoull(argv[2], nullptr, 10), rounds);
    return 0;
  }
  for (const std::size_t bytes : {1UL << 12, 1UL << 16, 1UL << 20, 32UL << 20}) measure(bytes, rounds);
  return 0;
}
