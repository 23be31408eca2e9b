// Cost model: what a collective over the wire takes by each algorithm, and which one is taken. Pure.
//
// A message takes alpha, and a byte 1 / bytes_per_s of the one link that a host has, full duplex. The choice
// must come out alike on all ranks, so it rests on speeds that are given, never on what one rank measured.
#pragma once

#include <cstdint>  // for uint64_t

namespace ring::plan {

struct Speed {
  double alpha_s;      // of a message, from one rank's call to the other's return
  double bytes_per_s;  // of a long stream
};

struct Speeds {
  Speed local{1e-6, 5e9};
  // Ordinary: with a faster wire than this little is lost by the choice, with a slower one nothing.
  Speed wire{30e-6, 125e6};
  double reduce_bytes_per_s = 6e9;  // of inputs
};

// How members reduce over the wire.
enum class Algorithm {
  kExchange,  // everybody sends all it has to everybody and reduces all: one message's time
  kPairwise,  // everybody gets its part from everybody, and gives the result to everybody: two
  kRing,      // parts pass from neighbour to neighbour, twice round
  kTree,      // up a binary heap and down again
};
[[nodiscard]] const char* name_of(Algorithm algorithm) noexcept;

struct Wanted {
  int members;
  std::uint64_t bytes;         // of one member's contribution, as it travels
  std::uint64_t result_bytes;  // of the result, as it travels
  bool keeps_raw = false;      // partial results are wider than contributions or would be rounded
};

// kExchange and kPairwise need links between all members, so at most kMostPairs of them.
[[nodiscard]] bool can(Algorithm algorithm, const Wanted& wanted) noexcept;
[[nodiscard]] double allreduce_seconds(Algorithm algorithm, const Wanted& wanted,
                                       const Speeds& speeds) noexcept;
// The cheapest that can. Raw values are exchanged as long as all members have links, so that nothing wide
// travels and nothing is rounded on the way.
[[nodiscard]] Algorithm choose_allreduce(const Wanted& wanted, const Speeds& speeds) noexcept;
[[nodiscard]] Algorithm choose_reducescatter(const Wanted& wanted, const Speeds& speeds) noexcept;

// Bytes that one member sends, and receives, in an allreduce: the mean over the members.
[[nodiscard]] double allreduce_bytes(Algorithm algorithm, const Wanted& wanted) noexcept;

enum class Spreading { kDirect, kChain, kTree };
[[nodiscard]] const char* name_of(Spreading spreading) noexcept;
[[nodiscard]] Spreading choose_broadcast(int members, std::uint64_t bytes, const Speeds& speeds) noexcept;
// Everybody sends its part to everybody, or passes on what comes round the ring.
[[nodiscard]] Spreading choose_allgather(int members, std::uint64_t largest_part, std::uint64_t all,
                                         const Speeds& speeds) noexcept;

}  // namespace ring::plan
