// Every kernel on random values, sizes and addresses, bit for bit against the reference, on each instruction
// set.
#include <doctest/doctest.h>

#include <string>  // for string
#include <vector>  // for vector

#include "kernel_reference.h"
#include "kernel_sets.h"
#include "suites/reducible.h"

namespace {

using namespace ring;
using namespace ring::testing;
using kernel::Scaling;
using kernel::Stores;

constexpr std::byte kUntouched{0xa5};
constexpr std::size_t kMargin = 64;

// Elements at any address, with bytes around them that nobody may write.
class Block {
 public:
  Block(Dice& dice, DType dtype, std::size_t count)
      : bytes_(count * size_of(dtype)), memory_(bytes_ + 3 * kMargin, kUntouched) {
    // Mostly at a multiple of the element's size, as arrays lie.
    begin_ = kMargin + (dice.below(3) == 0 ? dice.below(kMargin) : dice.below(4) * 16);
    dice.fill(dtype, data(), count);
  }
  [[nodiscard]] std::byte* data() { return memory_.data() + begin_; }
  [[nodiscard]] bool is(const Buffer& expected) const {
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      const bool inside = i >= begin_ && i < begin_ + bytes_;
      if (memory_[i] != (inside ? expected[i - begin_] : kUntouched)) return false;
    }
    return true;
  }

 private:
  std::size_t bytes_;
  Buffer memory_;
  std::size_t begin_ = 0;
};

std::size_t any_count(Dice& dice) {
  return dice.below(8) == 0 ? 3000 + dice.below(3000) : dice.below(300);
}

Scaling any_scaling(Dice& dice, DType dtype, ReduceOp op, int num) {
  constexpr double kFactors[] = {1, 1, 1, 0.3, 3, 0x1p-3, -2};
  const double pre = kFactors[dice.below(std::size(kFactors))];
  return kernel::scaling_of(dtype, op, num, pre, kFactors[dice.below(std::size(kFactors))]);
}

struct Given {
  Given(Dice& dice, DType dtype, int num, std::size_t elements) : count(elements) {
    for (int k = 0; k < num; ++k) blocks.emplace_back(dice, dtype, count);
    for (auto& block : blocks) pointers.push_back(block.data());
  }
  std::size_t count;
  std::vector<Block> blocks;
  std::vector<const std::byte*> pointers;
};

Buffer expected_of(DType dtype, ReduceOp op, const Given& given, const Scaling& scaling, DType to) {
  Buffer out(given.count * size_of(to));
  for (std::size_t i = 0; i < given.count; ++i) {
    reduce_one(dtype, op, given.pointers, i, scaling, to, out.data());
  }
  return out;
}

template <typename Body>
void for_each_case(Body&& body) {
  on_every_set([&] {
    Dice dice(7);
    for (const auto dtype : kReducible) {
      for (const auto op : kOps) {
        const std::string type = name_of(dtype);
        const std::string operation = name_of(op);
        CAPTURE(type);
        CAPTURE(operation);
        for (int round = 0; round < 10; ++round) body(dice, dtype, op, 1 + static_cast<int>(dice.below(6)));
      }
    }
  });
}

TEST_CASE("combine, with plain and streaming stores, into fresh memory and into an input") {
  for_each_case([](Dice& dice, DType dtype, ReduceOp op, int num) {
    Given given(dice, dtype, num, any_count(dice));
    const Scaling scaling = any_scaling(dice, dtype, op, num);
    const Buffer expected = expected_of(dtype, op, given, scaling, dtype);
    const auto stores = dice.below(2) == 0 ? Stores::kPlain : Stores::kStreaming;
    Block fresh(dice, dtype, given.count);
    Block& out = dice.below(2) == 0 ? fresh : given.blocks[dice.below(given.blocks.size())];
    kernel::combine(dtype, op, given.pointers.data(), num, out.data(), given.count, scaling, stores);
    CHECK(out.is(expected));
  });
}

TEST_CASE("combine_wide then finish is combine; both agree with the reference") {
  for_each_case([](Dice& dice, DType dtype, ReduceOp op, int num) {
    Given given(dice, dtype, num, any_count(dice));
    const DType wide = kernel::accumulator(dtype, op);
    // A partial minimum of 16 bits is rounded already, which only the user's factors can make visible.
    const bool is_rounded = size_of(wide) == 2;
    const Scaling scaling = is_rounded ? Scaling{} : any_scaling(dice, dtype, op, num);
    Block partial(dice, wide, given.count);
    Block out(dice, dtype, given.count);
    kernel::combine_wide(dtype, op, given.pointers.data(), num, partial.data(), given.count, scaling.pre);
    CHECK(partial.is(expected_of(dtype, op, given, {scaling.pre, 1, 1}, wide)));
    kernel::finish(wide, dtype, partial.data(), out.data(), given.count, scaling);
    CHECK(out.is(expected_of(dtype, op, given, scaling, dtype)));
  });
}

TEST_CASE("a ring of folds is one combine_wide") {
  for_each_case([](Dice& dice, DType dtype, ReduceOp op, int num) {
    Given given(dice, dtype, num, any_count(dice));
    const Scaling scaling = any_scaling(dice, dtype, op, num);
    const DType wide = kernel::accumulator(dtype, op);
    Block partial(dice, wide, given.count);
    kernel::combine_wide(dtype, op, given.pointers.data(), 1, partial.data(), given.count, scaling.pre);
    for (std::size_t k = 1; k < given.pointers.size(); ++k) {
      kernel::fold(wide, dtype, op, partial.data(), given.pointers[k], scaling.pre, partial.data(),
                   given.count);
    }
    CHECK(partial.is(expected_of(dtype, op, given, {scaling.pre, 1, 1}, wide)));
  });
}

TEST_CASE("compressed folds round to the wire type at each step, into either side") {
  on_every_set([] {
    Dice dice(8);
    for (int round = 0; round < 200; ++round) {
      const auto wire = dice.below(2) == 0 ? DType::kFloat16 : DType::kBFloat16;
      const auto op = kOps[dice.below(5)];
      const std::size_t count = any_count(dice);
      Block partial(dice, wire, count);
      Block own(dice, DType::kFloat32, count);
      Buffer expected(count * 2);
      for (std::size_t i = 0; i < count; ++i) {
        const auto scaled = static_cast<float>(real_at(DType::kFloat32, own.data(), i)) * 0.25F;
        const auto held = static_cast<float>(real_at(wire, partial.data(), i));
        put_real(wire, expected.data(), i, static_cast<double>(apply_real(op, held, scaled)));
      }
      kernel::fold(wire, DType::kFloat32, op, partial.data(), own.data(), 0.25, partial.data(), count);
      CHECK(partial.is(expected));
    }
  });
}

TEST_CASE("convert rounds once, with a factor") {
  struct Pair {
    DType from;
    DType to;
  };
  constexpr Pair kPairs[] = {{DType::kFloat32, DType::kFloat16}, {DType::kFloat32, DType::kBFloat16},
                             {DType::kFloat16, DType::kFloat32}, {DType::kBFloat16, DType::kFloat32},
                             {DType::kFloat32, DType::kFloat32}, {DType::kFloat64, DType::kFloat64}};
  on_every_set([&] {
    Dice dice(9);
    for (int round = 0; round < 200; ++round) {
      const Pair pair = kPairs[dice.below(std::size(kPairs))];
      const std::size_t count = any_count(dice);
      const double factor = dice.below(2) == 0 ? 1 : 0.7;
      Block in(dice, pair.from, count);
      Block out(dice, pair.to, count);
      Buffer expected(count * size_of(pair.to));
      for (std::size_t i = 0; i < count; ++i) {
        put_real(pair.to, expected.data(), i, real_at(pair.from, in.data(), i) * factor);
      }
      kernel::convert(pair.from, pair.to, in.data(), out.data(), count, factor);
      CHECK(out.is(expected));
    }
  });
}

TEST_CASE("copies arrive whole from and at any address") {
  on_every_set([] {
    Dice dice(10);
    for (int round = 0; round < 200; ++round) {
      const std::size_t bytes = any_count(dice);
      Block in(dice, DType::kUint8, bytes);
      Block out(dice, DType::kUint8, bytes);
      kernel::copy(in.data(), out.data(), bytes, round % 2 == 0 ? Stores::kPlain : Stores::kStreaming);
      CHECK(out.is(Buffer(in.data(), in.data() + bytes)));
    }
  });
}

}  // namespace
