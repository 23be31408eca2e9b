// HostBackend where some hosts have several ranks: local stages around one on the wire. Values stay in their
// accumulator between the stages and are rounded once, at the end.
//
// Rail i carries what belongs to the ranks of local index i, and in further rounds of those at i + rails, and
// so on: hosts with more ranks than rails hand over what a rail carried for them.
#include <algorithm>  // for max
#include <cstring>    // for memcpy

#include "ring/algo/host_backend.h"
#include "ring/plan/forecast.h"

namespace ring::algo {
namespace {

using backend::Call;
using backend::Reduction;
using plan::kOneRailBytes;
using plan::Part;

const Part& at(const plan::Parts& parts, int place) {
  return parts[static_cast<std::size_t>(place)];
}

// Cut as evenly as possible for the first `rails` of `size` members; empty for the others.
void cut(std::uint64_t count, int rails, int size, plan::Parts& parts) {
  plan::even_parts(count, rails, parts);
  parts.resize(static_cast<std::size_t>(size), Part{count, 0});
}

void to_bytes(plan::Parts& parts, std::size_t width) {
  for (auto& part : parts) part = {part.offset * width, part.count * width};
}

}  // namespace

const std::vector<int>& HostBackend::ranks_on(int host) const {
  return topology_.hosts[static_cast<std::size_t>(host)];
}

int HostBackend::carried(int host, int rail, int round) const {
  const auto place = static_cast<std::size_t>(round * rails_ + rail);
  const auto& ranks = ranks_on(host);
  return place < ranks.size() ? ranks[place] : -1;
}

int HostBackend::rounds(int host) const {
  return (static_cast<int>(ranks_on(host).size()) + rails_ - 1) / rails_;
}

Status HostBackend::allreduce_mixed(const Reduction& what, std::uint64_t count, const Call& call) {
  const std::size_t width = size_of(what.dtype);
  const DType wide = kernel::accumulator(what.dtype, what.op);
  const bool one_rail = count * width <= kOneRailBytes;
  const kernel::Scaling scaling = scaling_of(what);
  cut(count, one_rail ? 1 : rails_, topology_.local_size(), local_parts_);
  const Part own = at(local_parts_, local_index_);
  std::byte* place = what.recv + own.offset * width;
  std::byte* folded =
      wide == what.dtype ? place : scratch_.at_least(static_cast<std::size_t>(own.count) * size_of(wide));
  RING_TRY(local_->reducescatter(what, scaling, local_parts_, true, folded, call));
  if (local_index_ < (one_rail ? 1 : rails_)) {
    wire::Values values = values_of(what);
    values.own = folded;
    values.out = place;
    values.from = wide;
    values.prescale = 1;
    values.scaling = {1, scaling.post, scaling.divisor};
    if (values.residual != nullptr) values.residual += own.offset;
    RING_TRY(rail_->allreduce(values, own.count, call));
  }
  if (one_rail) return local_->broadcast(MutableBytes(what.recv, count * width), 0, call);
  to_bytes(local_parts_, width);
  return local_->allgather(what.recv, local_parts_, call);
}

// For every host the values that this rank's rail carries there, one rank's after the other, folded over this
// host. Leaves them in `scratch_` and how many there are by host in `rail_parts_`.
Status HostBackend::scatter_on_host(const Reduction& what, const kernel::Scaling& scaling,
                                    const plan::Parts& parts, const Call& call) {
  const std::size_t width = size_of(kernel::accumulator(what.dtype, what.op));
  rail_parts_.clear();
  std::uint64_t total = 0;
  for (int host = 0; host < topology_.num_hosts(); ++host) {
    std::uint64_t here = 0;
    for (int round = 0; on_rail() && round < rounds(host); ++round) {
      const int rank = carried(host, local_index_, round);
      here += rank < 0 ? 0 : at(parts, rank).count;
    }
    rail_parts_.push_back({total, here});
    total += here;
  }
  std::byte* out = scratch_.at_least(static_cast<std::size_t>(total) * width);
  for (int host = 0; host < topology_.num_hosts(); ++host) {
    for (int round = 0; round < rounds(host); ++round) {
      local_parts_.clear();
      for (int index = 0; index < topology_.local_size(); ++index) {
        const int rank = index < rails_ ? carried(host, index, round) : -1;
        local_parts_.push_back(rank < 0 ? Part{} : at(parts, rank));
      }
      RING_TRY(local_->reducescatter(what, scaling, local_parts_, true, out, call));
      out += at(local_parts_, local_index_).count * width;
    }
  }
  return Status::ok();
}

Status HostBackend::reducescatter_mixed(const Reduction& what, const plan::Parts& parts, const Call& call) {
  const kernel::Scaling scaling = scaling_of(what);
  const std::size_t width = size_of(what.dtype);
  RING_TRY(scatter_on_host(what, scaling, parts, call));
  const bool hands_over = topology_.local_size() > rails_;
  const std::uint64_t mine = at(rail_parts_, host_).count;
  std::byte* result = hands_over ? results_.at_least(static_cast<std::size_t>(mine) * width) : what.recv;
  if (on_rail()) {
    wire::Values values = values_of(what);
    values.own = scratch_.at_least(0);
    values.out = result;
    values.from = kernel::accumulator(what.dtype, what.op);
    values.prescale = 1;
    values.residual = nullptr;  // belongs to elements of the whole buffer, of which a rail has some
    values.scaling = {1, scaling.post, scaling.divisor};
    RING_TRY(rail_->reducescatter(values, rail_parts_, call));
  }
  return hands_over ? hand_over(result, what.recv, parts, width, call) : Status::ok();
}

// What the rails carried for the ranks of this host -> those ranks.
Status HostBackend::hand_over(const std::byte* carried_values, std::byte* recv, const plan::Parts& parts,
                              std::size_t width, const Call& call) {
  const auto members = static_cast<std::size_t>(topology_.local_size());
  plan::Parts out(members);
  plan::Parts in(members);
  std::uint64_t offset = 0;
  for (int round = 0; on_rail() && round < rounds(host_); ++round) {
    const int rank = carried(host_, local_index_, round);
    if (rank < 0) break;
    const std::uint64_t bytes = at(parts, rank).count * width;
    out[static_cast<std::size_t>(round * rails_ + local_index_)] = {offset, bytes};
    offset += bytes;
  }
  in[static_cast<std::size_t>(local_index_ % rails_)] = {0, at(parts, rank()).count * width};
  return local_->alltoall(carried_values, out, recv, in, call);
}

Status HostBackend::allgather_mixed(std::byte* recv, const plan::Parts& parts, const Call& call) {
  local_parts_.clear();
  for (const int rank : topology_.local_ranks()) local_parts_.push_back(at(parts, rank));
  RING_TRY(local_->allgather(recv, local_parts_, call));
  int most_rounds = 0;
  for (int host = 0; host < topology_.num_hosts(); ++host) most_rounds = std::max(most_rounds, rounds(host));
  for (int round = 0; on_rail() && round < most_rounds; ++round) {
    rail_parts_.clear();
    for (int host = 0; host < topology_.num_hosts(); ++host) {
      const int rank = carried(host, local_index_, round);
      rail_parts_.push_back(rank < 0 ? Part{} : at(parts, rank));
    }
    RING_TRY(rail_->allgather(recv, rail_parts_, call));
  }
  if (topology_.local_size() == 1) return Status::ok();
  for (int host = 0; host < topology_.num_hosts(); ++host) {
    for (int round = 0; host != host_ && round < rounds(host); ++round) {
      local_parts_.clear();
      for (int index = 0; index < topology_.local_size(); ++index) {
        const int rank = index < rails_ ? carried(host, index, round) : -1;
        local_parts_.push_back(rank < 0 ? Part{} : at(parts, rank));
      }
      RING_TRY(local_->allgather(recv, local_parts_, call));
    }
  }
  return Status::ok();
}

Status HostBackend::broadcast_mixed(MutableBytes buffer, int root, const Call& call) {
  const int root_host = topology_.host_of[static_cast<std::size_t>(root)];
  if (root_host == host_) RING_TRY(local_->broadcast(buffer, topology_.local_index_of(root), call));
  const bool one_rail = buffer.size <= kOneRailBytes;
  cut(buffer.size, one_rail ? 1 : rails_, topology_.local_size(), local_parts_);
  const Part own = at(local_parts_, local_index_);
  if (local_index_ < (one_rail ? 1 : rails_)) {
    const MutableBytes piece(buffer.data + own.offset, static_cast<std::size_t>(own.count));
    RING_TRY(rail_->broadcast(piece, root_host, call));
  }
  if (root_host == host_) return Status::ok();
  return one_rail ? local_->broadcast(buffer, 0, call) : local_->allgather(buffer.data, local_parts_, call);
}

}  // namespace ring::algo
