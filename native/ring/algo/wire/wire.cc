#include "ring/algo/wire/wire.h"

#include <algorithm>  // for find
#include <array>      // for array
#include <cstring>    // for memmove
#include <utility>    // for move

#include "ring/algo/wire/reductions.h"
#include "ring/algo/wire/stream.h"
#include "ring/plan/topology.h"

namespace ring::algo {
namespace {

using backend::Call;
using wire::Arithmetic;
using wire::Party;
using wire::Phases;
using wire::Values;

int index_of(const std::vector<int>& ranks, int rank) {
  return static_cast<int>(std::find(ranks.begin(), ranks.end(), rank) - ranks.begin());
}

plan::Wanted wanted_of(const Party& party, const Arithmetic& arithmetic, std::uint64_t count) {
  const bool wide = arithmetic.compresses() || arithmetic.partial() != arithmetic.raw();
  return {party.size(), count * size_of(arithmetic.raw()), count * size_of(arithmetic.result()), wide};
}

// Alone: nothing travels.
void reduce_alone(const Values& values, std::uint64_t offset, std::uint64_t count) {
  const std::byte* own = values.own + offset * size_of(values.from);
  std::byte* out = values.out + (offset - values.out_begin) * size_of(values.to);
  const auto elements = static_cast<std::size_t>(count);
  if (values.from == values.to) {
    kernel::combine(values.to, values.op, &own, 1, out, elements, values.scaling);
  } else {
    kernel::finish(values.from, values.to, own, out, elements, values.scaling);
  }
}

}  // namespace

Wire::Wire(transport::Mesh& mesh, std::vector<int> ranks, backend::Interrupt& interrupt,
           backend::Meter& meter)
    : party_{
          index_of(ranks, mesh.rank), std::move(ranks), wire::Pump(mesh, interrupt, meter), {}, {}, {}, {}} {}

Status Wire::allreduce(const Values& values, std::uint64_t count, const Call& call) {
  if (size() == 1) {
    reduce_alone(values, 0, count);
    return Status::ok();
  }
  Arithmetic arithmetic(values);
  switch (plan::choose_allreduce(wanted_of(party_, arithmetic, count), party_.speeds)) {
    case plan::Algorithm::kExchange:
      return wire::exchange(party_, arithmetic, count, call);
    case plan::Algorithm::kTree:
      return wire::tree(party_, arithmetic, count, call);
    case plan::Algorithm::kPairwise:
      plan::even_parts(count, size(), party_.parts);
      return wire::pairwise(party_, arithmetic, party_.parts, Phases::kBoth, call);
    case plan::Algorithm::kRing:
      plan::even_parts(count, size(), party_.parts);
      return wire::ring(party_, arithmetic, party_.parts, Phases::kBoth, call);
  }
  return {Code::kInternal, "unknown algorithm"};
}

Status Wire::reducescatter(const Values& values, const plan::Parts& parts, const Call& call) {
  const auto& own = parts[static_cast<std::size_t>(index())];
  Values placed = values;
  placed.out_begin = own.offset;
  if (size() == 1) {
    reduce_alone(placed, own.offset, own.count);
    return Status::ok();
  }
  Arithmetic arithmetic(placed);
  std::uint64_t all = 0;
  for (const auto& part : parts) all += part.count;
  const auto wanted = wanted_of(party_, arithmetic, all);
  if (plan::choose_reducescatter(wanted, party_.speeds) == plan::Algorithm::kPairwise) {
    return wire::pairwise(party_, arithmetic, parts, Phases::kScatter, call);
  }
  return wire::ring(party_, arithmetic, parts, Phases::kScatter, call);
}

}  // namespace ring::algo
