#include "ring/algo/reduce.h"

#include <algorithm>  // for max

#include "ring/kernel/reduce.h"
#include "ring/plan/pairwise.h"
#include "ring/plan/ring.h"

namespace ring::algo {
namespace {

using backend::Call;
using backend::Reduction;
using plan::Part;
using plan::Parts;

// Half of it stays in the second-level cache while the other half is on its way.
constexpr std::size_t kWindowBytes = 128 * 1024;

std::size_t bytes_of(const Part& part, DType dtype) {
  return part.count * size_of(dtype);
}
std::size_t offset_of(const Part& part, DType dtype) {
  return part.offset * size_of(dtype);
}

// Where the ring keeps the folded values of each part.
class Partials {
 public:
  Partials(Lane lane, const Reduction& what, const Parts& parts, Layout layout)
      : own_(lane.rank), what_(what), parts_(parts), layout_(layout) {
    if (layout == Layout::kAllParts) return;
    stride_ = plan::largest(parts) * size_of(what.dtype);
    spare_ = lane.partials.at_least(2 * stride_);
  }

  // With kOwnPart, parts of others take turns in two places: one is sent while the next is folded.
  [[nodiscard]] std::byte* of(int part, std::size_t step) const {
    if (layout_ == Layout::kAllParts) {
      return what_.recv + offset_of(parts_[static_cast<std::size_t>(part)], what_.dtype);
    }
    return part == own_ ? what_.recv : spare_ + (step % 2) * stride_;
  }

 private:
  int own_;
  const Reduction& what_;
  const Parts& parts_;
  Layout layout_;
  std::size_t stride_ = 0;
  std::byte* spare_ = nullptr;
};

Status ring_reducescatter(Lane lane, const Reduction& what, const Parts& parts, Layout layout,
                          const Call& call) {
  const Partials partials(lane, what, parts, layout);
  const MutableBytes window(lane.windows.at_least(kWindowBytes), kWindowBytes);
  const int next = plan::next_rank(lane.rank, lane.size);
  const int previous = plan::previous_rank(lane.rank, lane.size);
  const auto steps = plan::ring_reducescatter(lane.rank, parts);
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const auto& step = steps[s];
    const std::byte* outgoing =
        s == 0 ? what.send + offset_of(step.send, what.dtype) : partials.of(step.send_part, s - 1);
    const std::byte* mine = what.send + offset_of(step.recv, what.dtype);
    std::byte* folded = partials.of(step.recv_part, s);
    const auto fold = [&](std::size_t offset, Bytes arrived) {
      kernel::fold(what.dtype, what.op, arrived.data, mine + offset, folded + offset,
                   arrived.size / size_of(what.dtype));
    };
    std::vector<Send> sends{{next, Bytes(outgoing, bytes_of(step.send, what.dtype))}};
    std::vector<Receive> receives{{previous, bytes_of(step.recv, what.dtype), window, fold}};
    RING_TRY(lane.pump.run(sends, receives, call));
  }
  if (what.op == ReduceOp::kMean) {
    const auto& own = parts[static_cast<std::size_t>(lane.rank)];
    kernel::divide(what.dtype, partials.of(lane.rank, 0), own.count, lane.size);
  }
  return Status::ok();
}

// Raw values of all ranks for one block of the own part, then one fold in rank order.
Status reduce_block(Lane lane, const Reduction& what, const plan::PairwiseBlock& block, std::byte* out,
                    const Call& call) {
  const std::size_t stride = bytes_of(block.own, what.dtype);
  std::byte* raw = lane.windows.at_least(stride * static_cast<std::size_t>(lane.size));
  std::vector<const std::byte*> inputs(static_cast<std::size_t>(lane.size));
  inputs[static_cast<std::size_t>(lane.rank)] = what.send + offset_of(block.own, what.dtype);
  std::vector<Send> sends;
  std::vector<Receive> receives;
  for (const auto& step : block.steps) {
    sends.push_back(
        {step.to, Bytes(what.send + offset_of(step.send, what.dtype), bytes_of(step.send, what.dtype))});
    std::byte* place = raw + stride * static_cast<std::size_t>(step.from);
    inputs[static_cast<std::size_t>(step.from)] = place;
    receives.push_back({step.from, stride, MutableBytes(place, stride)});
  }
  RING_TRY(lane.pump.run(sends, receives, call));
  kernel::combine(what.dtype, what.op, inputs, out, block.own.count);
  return Status::ok();
}

Status pairwise_reducescatter(Lane lane, const Reduction& what, const Parts& parts, Layout layout,
                              const Call& call) {
  const auto& own = parts[static_cast<std::size_t>(lane.rank)];
  std::byte* out = what.recv + (layout == Layout::kAllParts ? offset_of(own, what.dtype) : 0);
  for (const auto& block :
       plan::pairwise_reducescatter(lane.rank, parts, kWindowBytes / size_of(what.dtype))) {
    RING_TRY(reduce_block(lane, what, block, out, call));
    out += bytes_of(block.own, what.dtype);
  }
  return Status::ok();
}

}  // namespace

Status reducescatter(Lane lane, const Reduction& what, const Parts& parts, Layout layout, const Call& call) {
  const bool wide = kernel::needs_wide(what.dtype, what.op);
  return wide ? pairwise_reducescatter(lane, what, parts, layout, call)
              : ring_reducescatter(lane, what, parts, layout, call);
}

}  // namespace ring::algo
