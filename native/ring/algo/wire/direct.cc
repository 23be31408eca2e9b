// exchange and pairwise: every member has a link to every other one.
#include <array>    // for array
#include <cstring>  // for memcpy

#include "ring/algo/wire/gathering.h"
#include "ring/algo/wire/reductions.h"
#include "ring/algo/wire/stream.h"
#include "ring/algo/wire/values.h"

namespace ring::algo::wire {
namespace {

constexpr std::size_t kMostPeers = Gathering::kMostPeers;

template <typename T>
using PerPeer = std::array<T, kMostPeers>;

// Memory handed out piece by piece.
class Pieces {
 public:
  explicit Pieces(std::byte* memory) : next_(memory) {}
  [[nodiscard]] std::byte* take(std::size_t bytes) {
    std::byte* piece = next_;
    next_ += rounded(bytes);
    return piece;
  }
  [[nodiscard]] static std::size_t rounded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

 private:
  std::byte* next_;
};

// The values of all members for one range -> its results.
class AllMembers final : public Folder {
 public:
  struct Place {
    Range range;
    const std::byte* own;  // contributions of the range; null: made block by block in `space`
    std::byte* space;
    std::byte* results;
  };
  AllMembers(Arithmetic& arithmetic, const Party& party, const Place& place)
      : arithmetic_(arithmetic),
        index_(static_cast<std::size_t>(party.index)),
        size_(static_cast<std::size_t>(party.size())),
        place_(place) {}

  void fold(const std::byte* const* arrived, std::uint64_t offset, std::size_t count) override {
    const std::uint64_t element = place_.range.offset + offset;
    std::array<const std::byte*, kMostPeers + 1> inputs{};
    for (std::size_t i = 0; i + 1 < size_; ++i) inputs[i < index_ ? i : i + 1] = arrived[i];
    inputs[index_] = place_.own == nullptr ? arithmetic_.contribution(element, count, place_.space)
                                           : place_.own + offset * size_of(arithmetic_.raw());
    const std::size_t width = size_of(arithmetic_.result());
    std::byte* results = place_.results + offset * width;
    arithmetic_.combine(inputs.data(), static_cast<int>(size_), element, count, results);
    arithmetic_.deliver(results, element, count);
    results_ = (offset + count) * width;
  }

  // Bytes of results that are there.
  [[nodiscard]] const std::uint64_t& results() const noexcept { return results_; }

 private:
  Arithmetic& arithmetic_;
  const std::size_t index_;
  const std::size_t size_;
  const Place place_;
  std::uint64_t results_ = 0;
};

// The k-th of the other members.
int peer_at(const Party& party, std::size_t k) {
  const int peer = static_cast<int>(k);
  return peer < party.index ? peer : peer + 1;
}

// Room for contributions that are made block by block while they are folded.
std::size_t own_space(const Arithmetic& arithmetic, std::size_t windows) {
  return arithmetic.compresses() ? windows : 0;
}

}  // namespace

Status exchange(Party& party, Arithmetic& arithmetic, std::uint64_t count, const backend::Call& call) {
  const auto peers = static_cast<std::size_t>(party.size() - 1);
  const std::size_t own_bytes = static_cast<std::size_t>(count) * size_of(arithmetic.raw());
  const std::size_t result_bytes = static_cast<std::size_t>(count) * size_of(arithmetic.result());
  arithmetic.keep_result_loss(party.index == 0);
  Pieces pieces(party.scratch.at_least(Pieces::rounded(own_bytes) + Pieces::rounded(result_bytes)));
  std::byte* space = pieces.take(own_bytes);
  const std::byte* own = arithmetic.contribution(0, static_cast<std::size_t>(count), space);
  std::byte* results = arithmetic.compresses() ? pieces.take(result_bytes) : arithmetic.place(0);
  if (own == results && count > 0) {  // results come while a slow peer still waits for own values
    std::memcpy(space, own, own_bytes);
    own = space;
  }
  Gathering gathering;
  AllMembers folder(arithmetic, party, {{0, count}, own, nullptr, results});
  gathering.begin(party.size() - 1, count, size_of(arithmetic.raw()), folder);
  gathering.use(party.windows.at_least(gathering.space()));
  PerPeer<SendSpan> sends;
  party.begin();
  for (std::size_t k = 0; k < peers; ++k) {
    sends[k] = SendSpan(Bytes(own, own_bytes));
    party.add(peer_at(party, k), &sends[k], &gathering.from(static_cast<int>(k)));
  }
  return party.pump.run(call);
}

Status pairwise(Party& party, Arithmetic& arithmetic, const plan::Parts& parts, Phases phases,
                const backend::Call& call) {
  const auto peers = static_cast<std::size_t>(party.size() - 1);
  const auto own = parts[static_cast<std::size_t>(party.index)];
  const bool gathers = phases == Phases::kBoth;
  const std::size_t window = Pieces::rounded(window_space(arithmetic, plan::largest(parts)));
  const std::size_t results_bytes = static_cast<std::size_t>(own.count) * size_of(arithmetic.result());
  const std::size_t kept = arithmetic.compresses() ? results_bytes : 0;
  Gathering gathering;
  // The folder needs its places, and they the windows: sized first, used then.
  const std::size_t folding = own_space(arithmetic, Gathering::kWindowsBytes);
  Pieces pieces(party.scratch.at_least(2 * peers * window + Pieces::rounded(kept) + folding));
  std::byte* results = arithmetic.compresses() ? pieces.take(kept) : arithmetic.place(own.offset);
  AllMembers folder(arithmetic, party, {{own.offset, own.count}, nullptr, pieces.take(folding), results});
  gathering.begin(party.size() - 1, own.count, size_of(arithmetic.raw()), folder);
  gathering.use(party.windows.at_least(gathering.space()));
  PerPeer<SendContribution> own_values;
  PerPeer<SendSpan> own_results;
  PerPeer<SendBoth> sends;
  PerPeer<ReceiveResults> results_of;
  PerPeer<ReceiveBoth> receives;
  party.begin();
  for (std::size_t k = 0; k < peers; ++k) {
    const int peer = peer_at(party, k);
    const auto& part = parts[static_cast<std::size_t>(peer)];
    own_values[k] = SendContribution(arithmetic, {part.offset, part.count}, pieces.take(window));
    own_results[k] = SendSpan(Bytes(results, gathers ? results_bytes : 0), &folder.results());
    sends[k] = SendBoth(own_values[k], own_results[k]);
    const Range range{part.offset, gathers ? part.count : 0};
    std::byte* place = gathers ? arithmetic.place(part.offset) : nullptr;
    results_of[k] = ReceiveResults(arithmetic, range, place, pieces.take(window));
    receives[k] = ReceiveBoth(gathering.from(static_cast<int>(k)), results_of[k]);
    party.add(peer, &sends[k], &receives[k]);
  }
  return party.pump.run(call);
}

Status ring(Party& party, Arithmetic& arithmetic, const plan::Parts& parts, Phases phases,
            const backend::Call& call) {
  Ring stream(arithmetic, parts, party.index, phases);
  stream.use(party.scratch);
  party.begin();
  party.add(party.next(), &stream, nullptr);
  party.add(party.previous(), nullptr, &stream);
  return party.pump.run(call);
}

}  // namespace ring::algo::wire
