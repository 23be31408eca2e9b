// Allreduce and reducescatter over the wire: every algorithm, type and op, against a float64 reference.
#include <doctest/doctest.h>

#include <numeric>  // for accumulate
#include <vector>   // for vector

#include "suites/collectives.h"
#include "values.h"
#include "wire_group.h"

namespace {

using namespace ring;
using namespace ring::testing;
using plan::Algorithm;

constexpr Algorithm kAlgorithms[] = {Algorithm::kExchange, Algorithm::kPairwise, Algorithm::kRing,
                                     Algorithm::kTree};

algo::wire::Values values_of(const Array& own, Array& out, ReduceOp op, int size) {
  algo::wire::Values values{};
  values.own = own.data();
  values.out = out.data();
  values.from = values.to = values.wire = own.dtype();
  values.op = op;
  values.scaling = kernel::scaling_of(own.dtype(), op, size, 1, 1);
  return values;
}

std::size_t at(const algo::Wire& wire) {
  return static_cast<std::size_t>(wire.index());
}

void check_wire_allreduce(WireGroup& group, DType dtype, ReduceOp op, std::size_t count) {
  const int size = group.size();
  const auto given = inputs(dtype, op, size, count);
  auto out = std::vector<Array>(static_cast<std::size_t>(size), Array(dtype, count));
  auto in_place = given;
  CHECK(all_fine(group.on_all([&](algo::Wire& wire, const backend::Call& call) {
    return wire.allreduce(values_of(given[at(wire)], out[at(wire)], op, size), count, call);
  })));
  CHECK(all_fine(group.on_all([&](algo::Wire& wire, const backend::Call& call) {
    return wire.allreduce(values_of(in_place[at(wire)], in_place[at(wire)], op, size), count, call);
  })));
  CHECK(count_wrong(out[0], op, size) == 0);
  for (std::size_t rank = 0; rank < out.size(); ++rank) {
    CHECK(out[rank] == out[0]);
    CHECK(in_place[rank] == out[0]);
    CHECK(given[rank] == filled(dtype, op, static_cast<int>(rank), count));
  }
}

TEST_CASE("wire allreduce: every algorithm, dtype and op") {
  for (const int size : {1, 2, 3, 5, 9}) {
    auto group = inproc_wires(size);
    for (const auto algorithm : kAlgorithms) {
      for (const auto dtype : kReducible) {
        for (const auto op : kOps) {
          for (const std::size_t count : {0U, 1U, 3U, 1000U}) {
            group.assume(speeds_for(algorithm, count * size_of(dtype)));
            CAPTURE(std::string(plan::name_of(algorithm)));
            CAPTURE(std::string(name_of(dtype)));
            CAPTURE(std::string(name_of(op)));
            CAPTURE(size);
            CAPTURE(count);
            const bool wraps = size_of(dtype) == 1 && op == ReduceOp::kSum && size > 4;
            if (!wraps && (count == 1000 || op == ReduceOp::kMean))
              check_wire_allreduce(group, dtype, op, count);
          }
        }
      }
    }
  }
}

TEST_CASE("wire allreduce of many windows") {
  for (const int size : {2, 4, 9}) {
    auto group = inproc_wires(size);
    for (const auto algorithm : kAlgorithms) {
      for (const auto dtype : {DType::kFloat32, DType::kBFloat16, DType::kInt64}) {
        const std::size_t count = 560003 / size_of(dtype);  // beyond each window
        group.assume(speeds_for(algorithm, count * size_of(dtype)));
        CAPTURE(std::string(plan::name_of(algorithm)));
        CAPTURE(std::string(name_of(dtype)));
        CAPTURE(size);
        check_wire_allreduce(group, dtype, ReduceOp::kMean, count);
      }
    }
  }
}

}  // namespace
