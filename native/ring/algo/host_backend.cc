#include "ring/algo/host_backend.h"

#include <cstring>  // for memcpy, memmove
#include <numeric>  // for iota
#include <utility>  // for move
#include <vector>   // for vector

#include "ring/plan/barrier.h"
#include "ring/plan/broadcast.h"
#include "ring/plan/ring.h"

namespace ring::algo {
namespace {

using backend::Call;
using backend::Counts;
using backend::Reduction;

// Up to here a broadcast is bound by hops, above by bytes.
constexpr std::size_t kTreeBytes = 64 * 1024;

// Null pointers are allowed for nothing.
void move_bytes(std::byte* to, const std::byte* from, std::size_t size) {
  if (size > 0 && to != from) std::memmove(to, from, size);
}

}  // namespace

HostBackend::HostBackend(transport::Mesh mesh, backend::Interrupt& interrupt)
    : mesh_(std::make_shared<transport::Mesh>(std::move(mesh))),
      ranks_(static_cast<std::size_t>(mesh_->size)),
      rank_(mesh_->rank),
      interrupt_(interrupt),
      pump_(*mesh_, ranks_, interrupt) {
  std::iota(ranks_.begin(), ranks_.end(), 0);
}

HostBackend::HostBackend(std::shared_ptr<transport::Mesh> mesh, std::vector<int> ranks, int rank,
                         backend::Interrupt& interrupt)
    : mesh_(std::move(mesh)),
      ranks_(std::move(ranks)),
      rank_(rank),
      interrupt_(interrupt),
      pump_(*mesh_, ranks_, interrupt) {}

std::string HostBackend::host_of(int rank) const {
  const auto place = static_cast<std::size_t>(world_rank(rank));
  return place < mesh_->hosts.size() ? mesh_->hosts[place] : std::string();
}

int HostBackend::world_rank(int rank) const noexcept {
  return rank >= 0 && rank < size() ? ranks_[static_cast<std::size_t>(rank)] : -1;
}

Result<std::unique_ptr<backend::Backend>> HostBackend::split(const std::vector<int>& ranks) {
  std::vector<int> inside;
  int mine = -1;
  for (const int rank : ranks) {
    if (rank == rank_) mine = static_cast<int>(inside.size());
    inside.push_back(world_rank(rank));
  }
  if (mine < 0) return std::unique_ptr<backend::Backend>();
  return std::unique_ptr<backend::Backend>(new HostBackend(mesh_, std::move(inside), mine, interrupt_));
}

Status HostBackend::allreduce(const Reduction& what, std::uint64_t count, const Call& call) {
  if (size() == 1) {
    move_bytes(what.recv, what.send, count * size_of(what.dtype));
    return Status::ok();
  }
  const auto parts = plan::even_parts(count, size());
  RING_TRY(algo::reducescatter(lane(), what, parts, Layout::kAllParts, call));
  plan::Parts bytes = parts;
  for (auto& part : bytes) part = {part.offset * size_of(what.dtype), part.count * size_of(what.dtype)};
  return allgather_parts(what.recv, bytes, call);
}

Status HostBackend::reducescatter(const Reduction& what, const Counts& counts, const Call& call) {
  if (size() == 1) {
    move_bytes(what.recv, what.send, counts[0] * size_of(what.dtype));
    return Status::ok();
  }
  return algo::reducescatter(lane(), what, plan::parts_of(counts), Layout::kOwnPart, call);
}

Status HostBackend::allgather(Bytes send, std::byte* recv, const Counts& bytes, const Call& call) {
  const auto parts = plan::parts_of(bytes);
  move_bytes(recv + parts[static_cast<std::size_t>(rank())].offset, send.data, send.size);
  return allgather_parts(recv, parts, call);
}

Status HostBackend::allgather_parts(std::byte* data, const plan::Parts& parts, const Call& call) {
  for (const auto& step : plan::ring_allgather(rank(), parts)) {
    std::vector<Send> sends{
        {plan::next_rank(rank(), size()), Bytes(data + step.send.offset, step.send.count)}};
    std::vector<Receive> receives{{plan::previous_rank(rank(), size()), step.recv.count,
                                   MutableBytes(data + step.recv.offset, step.recv.count)}};
    RING_TRY(pump_.run(sends, receives, call));
  }
  return Status::ok();
}

Status HostBackend::broadcast(MutableBytes buffer, int root, const Call& call) {
  const auto plan = buffer.size <= kTreeBytes ? plan::binomial_tree(rank(), size(), root)
                                              : plan::chain(rank(), size(), root);
  std::vector<Send> sends;
  std::vector<Receive> receives;
  if (plan.parent >= 0) receives.push_back({plan.parent, buffer.size, buffer});
  for (const int child : plan.children) {
    sends.push_back({child, Bytes(buffer.data, buffer.size), plan.parent >= 0 ? 0 : kNoGate});
  }
  return pump_.run(sends, receives, call);
}

Status HostBackend::alltoall(const std::byte* send, const Counts& send_bytes, std::byte* recv,
                             const Counts& recv_bytes, const Call& call) {
  const auto out = plan::parts_of(send_bytes);
  const auto in = plan::parts_of(recv_bytes);
  std::vector<Send> sends;
  std::vector<Receive> receives;
  for (int distance = 0; distance < size(); ++distance) {
    const int to = (rank() + distance) % size();
    const int from = (rank() - distance + size()) % size();
    const auto& give = out[static_cast<std::size_t>(to)];
    const auto& take = in[static_cast<std::size_t>(from)];
    if (distance == 0) {
      move_bytes(recv + take.offset, send + give.offset, give.count);
    } else {
      sends.push_back({to, Bytes(send + give.offset, give.count)});
      receives.push_back({from, take.count, MutableBytes(recv + take.offset, take.count)});
    }
  }
  return pump_.run(sends, receives, call);
}

Status HostBackend::barrier(const Call& call) {
  const std::byte token{1};
  std::byte got{};
  for (const auto& round : plan::dissemination(rank(), size())) {
    std::vector<Send> sends{{round.to, Bytes(&token, 1)}};
    std::vector<Receive> receives{{round.from, 1, MutableBytes(&got, 1)}};
    RING_TRY(pump_.run(sends, receives, call));
  }
  return Status::ok();
}

Status HostBackend::swap_headers(Bytes mine, MutableBytes previous, MutableBytes next, const Call& call) {
  if (size() == 1) {
    std::memcpy(previous.data, mine.data, mine.size);
    std::memcpy(next.data, mine.data, mine.size);
    return Status::ok();
  }
  const int before = plan::previous_rank(rank(), size());
  const int after = plan::next_rank(rank(), size());
  std::vector<Send> sends{{after, mine}};
  std::vector<Receive> receives{{before, previous.size, previous}};
  if (before != after) {  // with two ranks both neighbours are one
    sends.push_back({before, mine});
    receives.push_back({after, next.size, next});
  }
  RING_TRY(pump_.run(sends, receives, call));
  if (before == after) std::memcpy(next.data, previous.data, next.size);
  return Status::ok();
}

void HostBackend::close() noexcept {
  for (auto& link : mesh_->links) {
    if (link) link->close();
  }
  mesh_->links.clear();
}

}  // namespace ring::algo
