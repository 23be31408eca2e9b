#include "ring/plan/cost.h"

#include <cmath>  // for ceil, log2

#include "ring/plan/topology.h"

namespace ring::plan {
namespace {

// Many senders to one receiver lose a little to each other; a ring has one.
constexpr double kManyToOne = 1.03;

double heap_depth(int members) {
  return members <= 1 ? 0 : std::floor(std::log2(members));
}

bool all_linked(int members) {
  return members <= kMostPairs;
}

Algorithm cheapest(const Algorithm* first, const Algorithm* last, const Wanted& wanted,
                   const Speeds& speeds) {
  Algorithm best = Algorithm::kRing;
  double least = -1;
  for (; first != last; ++first) {
    if (!can(*first, wanted)) continue;
    const double seconds = allreduce_seconds(*first, wanted, speeds);
    if (least >= 0 && seconds >= least) continue;
    least = seconds;
    best = *first;
  }
  return best;
}

}  // namespace

const char* name_of(Algorithm algorithm) noexcept {
  switch (algorithm) {
    case Algorithm::kExchange:
      return "exchange";
    case Algorithm::kPairwise:
      return "pairwise";
    case Algorithm::kRing:
      return "ring";
    case Algorithm::kTree:
      return "tree";
  }
  return "unknown algorithm";
}

const char* name_of(Spreading spreading) noexcept {
  switch (spreading) {
    case Spreading::kDirect:
      return "direct";
    case Spreading::kChain:
      return "chain";
    case Spreading::kTree:
      return "tree";
  }
  return "unknown way";
}

bool can(Algorithm algorithm, const Wanted& wanted) noexcept {
  switch (algorithm) {
    case Algorithm::kExchange:
    case Algorithm::kPairwise:
      return all_linked(wanted.members);
    case Algorithm::kRing:
    case Algorithm::kTree:  // between two it is what pairwise is, with more messages
      return wanted.members > 2 && !(wanted.keeps_raw && all_linked(wanted.members));
  }
  return false;
}

double allreduce_bytes(Algorithm algorithm, const Wanted& wanted) noexcept {
  const auto bytes = static_cast<double>(wanted.bytes);
  const double others = wanted.members - 1;
  switch (algorithm) {
    case Algorithm::kExchange:
      return others * bytes;
    case Algorithm::kPairwise:
    case Algorithm::kRing:
    case Algorithm::kTree:  // each edge once up and once down; inner members carry more than the mean
      return others / wanted.members * (bytes + static_cast<double>(wanted.result_bytes));
  }
  return 0;
}

double allreduce_seconds(Algorithm algorithm, const Wanted& wanted, const Speeds& speeds) noexcept {
  const auto bytes = static_cast<double>(wanted.bytes);
  const int members = wanted.members;
  if (members <= 1) return 0;
  const double sent = allreduce_bytes(algorithm, wanted) / speeds.wire.bytes_per_s;
  const double alpha = speeds.wire.alpha_s;
  const double reduce = bytes / speeds.reduce_bytes_per_s;
  switch (algorithm) {
    case Algorithm::kExchange:
      return alpha + sent + members * reduce;
    case Algorithm::kPairwise:
      return 2 * alpha + sent * (members > 2 ? kManyToOne : 1) + reduce;
    case Algorithm::kRing:
      return 2 * (members - 1) * alpha + sent + reduce;
    case Algorithm::kTree:  // an inner member takes in two children and the result, and gives as much
      return 2 * heap_depth(members) * alpha +
             (2 * bytes + static_cast<double>(wanted.result_bytes)) / speeds.wire.bytes_per_s + 3 * reduce;
  }
  return 0;
}

Algorithm choose_allreduce(const Wanted& wanted, const Speeds& speeds) noexcept {
  constexpr Algorithm kAll[] = {Algorithm::kExchange, Algorithm::kPairwise, Algorithm::kTree,
                                Algorithm::kRing};
  return cheapest(kAll, kAll + 4, wanted, speeds);
}

Algorithm choose_reducescatter(const Wanted& wanted, const Speeds& speeds) noexcept {
  constexpr Algorithm kSome[] = {Algorithm::kPairwise, Algorithm::kRing};
  return cheapest(kSome, kSome + 2, wanted, speeds);
}

Spreading choose_broadcast(int members, std::uint64_t bytes, const Speeds& speeds) noexcept {
  const double once = static_cast<double>(bytes) / speeds.wire.bytes_per_s;
  const double alpha = speeds.wire.alpha_s;
  const double others = members - 1;
  const double chain = others * alpha + once;
  if (all_linked(members)) return alpha + others * once <= chain ? Spreading::kDirect : Spreading::kChain;
  // From any member up to the top of the heap and down to the lowest leaf; two children share the link.
  return 2 * heap_depth(members) * alpha + 2 * once <= chain ? Spreading::kTree : Spreading::kChain;
}

Spreading choose_allgather(int members, std::uint64_t largest_part, std::uint64_t all,
                           const Speeds& speeds) noexcept {
  if (!all_linked(members)) return Spreading::kChain;
  const double others = members - 1;
  const double direct =
      speeds.wire.alpha_s + kManyToOne * others * static_cast<double>(largest_part) / speeds.wire.bytes_per_s;
  const double ring = others * speeds.wire.alpha_s + static_cast<double>(all) / speeds.wire.bytes_per_s;
  return direct <= ring ? Spreading::kDirect : Spreading::kChain;
}

}  // namespace ring::plan
