#include "ring/algo/host_backend.h"

#include <algorithm>  // for all_of, find, max
#include <cstring>    // for memmove
#include <numeric>    // for iota
#include <utility>    // for move

#include "ring/shm/group.h"

namespace ring::algo {
namespace {

using backend::Call;
using backend::Counts;
using backend::Reduction;

// Null pointers are allowed for nothing.
void move_bytes(std::byte* to, const std::byte* from, std::size_t size) {
  if (size > 0 && to != from) std::memmove(to, from, size);
}

}  // namespace

HostBackend::HostBackend(std::shared_ptr<Shared> shared, backend::Interrupt& interrupt,
                         std::vector<int> ranks, plan::Topology topology)
    : shared_(std::move(shared)),
      interrupt_(interrupt),
      ranks_(std::move(ranks)),
      topology_(std::move(topology)),
      host_(topology_.host()),
      local_index_(topology_.local_index()),
      rails_(topology_.rails()) {}

Result<std::unique_ptr<HostBackend>> HostBackend::make(transport::Mesh mesh, backend::Interrupt& interrupt) {
  std::vector<int> ranks(static_cast<std::size_t>(mesh.size));
  std::iota(ranks.begin(), ranks.end(), 0);
  auto topology = mesh.topology;
  auto shared = std::make_shared<Shared>();
  shm::GroupArea area;
  if (mesh.segment) {
    area = shm::area_of_host(*mesh.segment);
    shared->seat = std::make_shared<shm::Seat>(mesh.segment, topology.local_index());
  }
  shared->mesh = std::move(mesh);
  auto formed = form(std::move(shared), interrupt, std::move(ranks), std::move(topology), area);
  if (formed) formed.value()->owns_mesh_ = true;
  return formed;
}

Result<std::unique_ptr<HostBackend>> HostBackend::form(std::shared_ptr<Shared> shared,
                                                       backend::Interrupt& interrupt, std::vector<int> ranks,
                                                       plan::Topology topology, const shm::GroupArea& area) {
  std::unique_ptr<HostBackend> formed(
      new HostBackend(std::move(shared), interrupt, std::move(ranks), std::move(topology)));
  RING_TRY(formed->join_host(area));
  formed->join_rail();
  return formed;
}

Status HostBackend::join_host(const shm::GroupArea& area) {
  const auto& local = topology_.local_ranks();
  std::vector<int> mesh_ranks;
  for (const int rank : local) mesh_ranks.push_back(ranks_[static_cast<std::size_t>(rank)]);
  if (local.size() == 1) {
    local_.emplace(shm::LocalGroup::alone(), std::move(mesh_ranks), interrupt_, meter_);
    return Status::ok();
  }
  if (!shared_->seat) return {Code::kInternal, "ranks share a host, but no segment"};
  std::vector<int> seats;  // places on the whole host
  const auto& whole = shared_->mesh.topology;
  for (const int rank : mesh_ranks) seats.push_back(whole.local_index_of(rank));
  auto group = shm::LocalGroup::join(shared_->seat, area, local_index_, std::move(seats));
  if (!group) return group.status();
  local_.emplace(std::move(group).value(), std::move(mesh_ranks), interrupt_, meter_);
  return Status::ok();
}

void HostBackend::join_rail() {
  std::vector<int> members{ranks_[static_cast<std::size_t>(rank())]};
  if (on_rail()) {
    members = topology_.rail(local_index_);
    for (int& member : members) member = ranks_[static_cast<std::size_t>(member)];
  }
  rail_.emplace(shared_->mesh, std::move(members), interrupt_, meter_);
}

Result<std::unique_ptr<backend::Backend>> HostBackend::split(const std::vector<int>& ranks,
                                                             const Call& call) {
  const auto area = agree_on_area(ranks, call);
  if (!area) return area.status();
  if (std::find(ranks.begin(), ranks.end(), rank()) == ranks.end()) return std::unique_ptr<Backend>();
  std::vector<int> mesh_ranks;
  for (const int one : ranks) mesh_ranks.push_back(ranks_[static_cast<std::size_t>(one)]);
  auto formed =
      form(shared_, interrupt_, std::move(mesh_ranks), plan::subset(topology_, ranks), area.value());
  if (!formed) return formed.status();
  return std::unique_ptr<Backend>(std::move(formed).value());
}

Result<shm::GroupArea> HostBackend::agree_on_area(const std::vector<int>& ranks, const Call& call) {
  shm::GroupArea area{0, 0};
  int first = -1;
  for (const int one : ranks) {
    if (topology_.host_of[static_cast<std::size_t>(one)] != host_) continue;
    if (area.size++ == 0) first = one;
  }
  if (area.size < 2) return area;
  const auto& local = topology_.local_ranks();
  const auto taker = std::find(local.begin(), local.end(), first) - local.begin();
  Status failure;
  if (first == rank()) {
    const auto taken = shm::take_area(*shared_->seat->segment(), area.size);
    failure = taken.status();
    if (taken) area = taken.value();
  }
  auto* offset = reinterpret_cast<std::byte*>(&area.offset);
  RING_TRY(local_->broadcast({offset, sizeof area.offset}, static_cast<int>(taker), call));
  RING_TRY(failure);
  if (area.offset == 0) return Status(Code::kSystem, "no shared memory for another group of ranks");
  return area;
}

int HostBackend::world_rank(int rank) const noexcept {
  return rank >= 0 && rank < size() ? ranks_[static_cast<std::size_t>(rank)] : -1;
}

std::string HostBackend::host_of(int world_rank) const {
  const auto& hosts = shared_->mesh.hosts;
  const auto place = static_cast<std::size_t>(world_rank);
  return world_rank >= 0 && place < hosts.size() ? hosts[place] : std::string();
}

int HostBackend::waited_for() const noexcept {
  const int on_rail = rail_ ? rail_->waited_for() : -1;
  return on_rail < 0 && local_ ? local_->waited_for() : on_rail;
}

void HostBackend::close() noexcept {
  local_.reset();
  rail_.reset();
  auto& mesh = shared_->mesh;
  if (!owns_mesh_) return;  // a group shares it, even one of all ranks
  for (auto& link : mesh.links) {
    if (link) link->close();
  }
  shared_->seat.reset();
  mesh.segment.reset();
  mesh.extender.reset();
}

wire::Values HostBackend::values_of(const Reduction& what) const {
  wire::Values values{};
  values.own = what.send;
  values.out = what.recv;
  values.from = values.to = values.wire = what.dtype;
  values.op = what.op;
  const bool compresses = what.dtype == DType::kFloat32 && what.wire != what.dtype;
  if (compresses) {  // prescaled before it is rounded, so that it can be brought into range
    values.wire = what.wire;
    values.prescale = what.prescale;
    values.residual = what.residual;
  }
  values.scaling =
      kernel::scaling_of(what.dtype, what.op, size(), compresses ? 1 : what.prescale, what.postscale);
  return values;
}

kernel::Scaling HostBackend::scaling_of(const Reduction& what) const {
  return kernel::scaling_of(what.dtype, what.op, size(), what.prescale, what.postscale);
}

Status HostBackend::allreduce(const Reduction& what, std::uint64_t count, const Call& call) {
  if (!is_rail_reached_) RING_TRY(reach_rail(call));
  if (one_host()) return local_->allreduce(what, scaling_of(what), count, call);
  if (one_rank_each()) return rail_->allreduce(values_of(what), count, call);
  return allreduce_mixed(what, count, call);
}

Status HostBackend::reducescatter(const Reduction& what, const Counts& counts, const Call& call) {
  if (!is_rail_reached_) RING_TRY(reach_rail(call));
  plan::parts_of(counts, parts_);
  if (one_host()) return local_->reducescatter(what, scaling_of(what), parts_, false, what.recv, call);
  if (one_rank_each()) return rail_->reducescatter(values_of(what), parts_, call);
  return reducescatter_mixed(what, parts_, call);
}

Status HostBackend::allgather(Bytes send, std::byte* recv, const Counts& bytes, const Call& call) {
  if (!is_rail_reached_) RING_TRY(reach_rail(call));
  plan::parts_of(bytes, parts_);
  move_bytes(recv + parts_[static_cast<std::size_t>(rank())].offset, send.data, send.size);
  if (one_host()) return local_->allgather(recv, parts_, call);
  if (one_rank_each()) return rail_->allgather(recv, parts_, call);
  return allgather_mixed(recv, parts_, call);
}

Status HostBackend::broadcast(MutableBytes buffer, int root, const Call& call) {
  if (!is_rail_reached_) RING_TRY(reach_rail(call));
  if (one_host()) return local_->broadcast(buffer, root, call);
  if (one_rank_each()) return rail_->broadcast(buffer, root, call);
  return broadcast_mixed(buffer, root, call);
}

Status HostBackend::alltoall(const std::byte* send, const Counts& send_bytes, std::byte* recv,
                             const Counts& recv_bytes, const Call& call) {
  const auto out = plan::parts_of(send_bytes);
  const auto in = plan::parts_of(recv_bytes);
  RING_TRY(alltoall_on_host(send, out, recv, in, call));
  if (one_host()) return Status::ok();
  std::vector<Wire::Pair> pairs;
  for (int distance = 1; distance < size(); ++distance) {  // everybody begins with another one
    const auto other = static_cast<std::size_t>((rank() + distance) % size());
    if (topology_.host_of[other] == host_) continue;
    pairs.push_back({ranks_[other],
                     Bytes(send + out[other].offset, static_cast<std::size_t>(out[other].count)),
                     MutableBytes(recv + in[other].offset, static_cast<std::size_t>(in[other].count))});
  }
  RING_TRY(reach_all(pairs, call));
  return rail_->alltoall(pairs, call);
}

bool HostBackend::is_linked_to(const std::vector<int>& mesh_ranks) const {
  const auto& links = shared_->mesh.links;
  return std::all_of(mesh_ranks.begin(), mesh_ranks.end(),
                     [&](int rank) { return links[static_cast<std::size_t>(rank)] != nullptr; });
}

Status HostBackend::reach_rail(const Call& call) {
  is_rail_reached_ = true;
  if (!on_rail()) return Status::ok();
  const auto rail = topology_.rail(local_index_);
  std::vector<int> mesh_ranks;
  for (const int place : plan::neighbours(host_, static_cast<int>(rail.size()))) {
    mesh_ranks.push_back(ranks_[static_cast<std::size_t>(rail[static_cast<std::size_t>(place)])]);
  }
  return is_linked_to(mesh_ranks) ? Status::ok() : reach(mesh_ranks, call);
}

// Once; up to kMostPairs ranks on as many hosts have all links from the beginning.
Status HostBackend::reach_all(const std::vector<Wire::Pair>& pairs, const Call& call) {
  if (is_all_reached_ || (one_rank_each() && size() <= plan::kMostPairs)) return Status::ok();
  is_all_reached_ = true;
  RING_TRY(barrier(call));  // nobody waits for links before all have agreed that they are needed
  std::vector<int> others;
  for (const auto& pair : pairs) others.push_back(pair.rank);
  return reach(others, call);
}

Status HostBackend::reach(const std::vector<int>& mesh_ranks, const Call& call) {
  auto& mesh = shared_->mesh;
  if (!mesh.extender) return {Code::kInternal, "ranks that are not connected, and no way to connect them"};
  return mesh.extender->extend(mesh.links, mesh_ranks, call.deadline, interrupt_);
}

Status HostBackend::alltoall_on_host(const std::byte* send, const plan::Parts& out, std::byte* recv,
                                     const plan::Parts& in, const Call& call) {
  plan::Parts local_out;
  plan::Parts local_in;
  for (const int other : topology_.local_ranks()) {
    local_out.push_back(out[static_cast<std::size_t>(other)]);
    local_in.push_back(in[static_cast<std::size_t>(other)]);
  }
  return local_->alltoall(send, local_out, recv, local_in, call);
}

Status HostBackend::barrier(const Call& call) {
  if (!is_rail_reached_) RING_TRY(reach_rail(call));
  if (!one_rank_each()) RING_TRY(local_->barrier(call));
  if (one_host()) return Status::ok();
  if (local_index_ == 0) RING_TRY(rail_->barrier(call));
  return one_rank_each() ? Status::ok() : local_->barrier(call);
}

Result<Window> HostBackend::allocate(std::size_t bytes, const Call& call) {
  return local_->allocate(bytes, call);
}

Result<Window> HostBackend::adopt(std::byte* address, std::size_t bytes, const Call& call) {
  return local_->adopt(address, bytes, call);
}

void HostBackend::release(const Window& window) {
  local_->release(window);
}

}  // namespace ring::algo
