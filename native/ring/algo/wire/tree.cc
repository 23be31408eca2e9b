// tree: partial results go up a binary heap of the members, the result comes down; both are streams.
#include <array>    // for array
#include <cstring>  // for memcpy

#include "ring/algo/wire/gathering.h"
#include "ring/algo/wire/reductions.h"
#include "ring/algo/wire/stream.h"
#include "ring/plan/topology.h"

namespace ring::algo::wire {
namespace {

constexpr std::size_t kMostChildren = 2;

// Memory of one call: what goes up, and what comes down where the caller's memory holds another type.
struct Buffers {
  std::byte* partials;
  std::byte* results;
  std::byte* space;
};

Buffers buffers_of(Party& party, const Arithmetic& arithmetic, std::uint64_t count) {
  const auto elements = static_cast<std::size_t>(count);
  const std::size_t partials = (elements * size_of(arithmetic.partial()) + 63) / 64 * 64;
  const std::size_t rounded = arithmetic.compresses() ? elements * size_of(arithmetic.result()) : 0;
  std::byte* memory = party.scratch.at_least(partials + 2 * rounded);
  return {memory, arithmetic.compresses() ? memory + partials : arithmetic.place(0),
          memory + partials + rounded};
}

// The children's partials and the own values -> the own partial; at the root on to the result.
class Children final : public Folder {
 public:
  Children(Arithmetic& arithmetic, const Buffers& buffers, int num_children, bool is_root)
      : arithmetic_(arithmetic), buffers_(buffers), num_children_(num_children), is_root_(is_root) {}

  void fold(const std::byte* const* arrived, std::uint64_t offset, std::size_t count) override {
    const std::size_t width = size_of(arithmetic_.partial());
    std::byte* partial = buffers_.partials + offset * width;
    const std::byte* own = arithmetic_.contribution(offset, count, buffers_.space);
    arithmetic_.fold(arrived[0], own, offset, partial, count);
    if (num_children_ > 1) arithmetic_.fold_partials(partial, arrived[1], offset, partial, count);
    partials_ = (offset + count) * width;
    if (!is_root_) return;
    std::byte* result = buffers_.results + offset * size_of(arithmetic_.result());
    arithmetic_.finish(partial, offset, result, count);
    results_ = (offset + count) * size_of(arithmetic_.result());
  }

  // Bytes that are there.
  [[nodiscard]] const std::uint64_t& partials() const noexcept { return partials_; }
  [[nodiscard]] const std::uint64_t& results() const noexcept { return results_; }

 private:
  Arithmetic& arithmetic_;
  const Buffers buffers_;
  const int num_children_;
  const bool is_root_;
  std::uint64_t partials_ = 0;
  std::uint64_t results_ = 0;
};

}  // namespace

Status tree(Party& party, Arithmetic& arithmetic, std::uint64_t count, const backend::Call& call) {
  const auto elements = static_cast<std::size_t>(count);
  const int parent = plan::heap_parent(party.index);
  const int first_child = 2 * party.index + 1;
  const int num_children = std::clamp(party.size() - first_child, 0, static_cast<int>(kMostChildren));
  const Buffers buffers = buffers_of(party, arithmetic, count);
  Children folder(arithmetic, buffers, num_children, parent < 0);
  Gathering gathering;
  gathering.begin(num_children, count, size_of(arithmetic.partial()), folder);
  gathering.use(party.windows.at_least(gathering.space()));
  if (num_children == 0) {
    arithmetic.widen(arithmetic.contribution(0, elements, buffers.space), buffers.partials, elements);
  }
  const std::size_t partial_bytes = elements * size_of(arithmetic.partial());
  const std::size_t result_bytes = elements * size_of(arithmetic.result());
  SendSpan up(Bytes(buffers.partials, partial_bytes), num_children > 0 ? &folder.partials() : nullptr);
  ReceiveSpan result(MutableBytes(buffers.results, result_bytes));
  const std::uint64_t& there = parent < 0 ? folder.results() : result.arrived();
  std::array<SendSpan, kMostChildren> down;
  party.begin();
  if (parent >= 0) party.add(parent, &up, &result);
  for (int child = 0; child < num_children; ++child) {
    auto& stream = down[static_cast<std::size_t>(child)];
    stream = SendSpan(Bytes(buffers.results, result_bytes), &there);
    party.add(first_child + child, &stream, &gathering.from(child));
  }
  RING_TRY(party.pump.run(call));
  arithmetic.deliver(buffers.results, 0, elements);
  return Status::ok();
}

}  // namespace ring::algo::wire
