// The collectives of Wire that only move bytes.
#include <array>    // for array
#include <cstring>  // for memmove
#include <deque>    // for deque

#include "ring/algo/wire/reductions.h"
#include "ring/algo/wire/stream.h"
#include "ring/algo/wire/wire.h"
#include "ring/plan/spreading.h"
#include "ring/plan/topology.h"

namespace ring::algo {
namespace {

using backend::Call;
using wire::ReceiveSpan;
using wire::SendSpan;

const plan::Part& at(const plan::Parts& parts, int member) {
  return parts[static_cast<std::size_t>(member)];
}

Bytes piece(const std::byte* data, const plan::Part& part) {
  return {data + part.offset, static_cast<std::size_t>(part.count)};
}
MutableBytes piece(std::byte* data, const plan::Part& part) {
  return {data + part.offset, static_cast<std::size_t>(part.count)};
}

}  // namespace

Status Wire::allgather(std::byte* data, const plan::Parts& parts, const Call& call) {
  if (size() == 1) return Status::ok();
  std::uint64_t all = 0;
  for (const auto& part : parts) all += part.count;
  if (plan::choose_allgather(size(), plan::largest(parts), all, party_.speeds) == plan::Spreading::kChain) {
    wire::Values bytes{};
    bytes.own = bytes.out = data;
    bytes.from = bytes.to = bytes.wire = DType::kUint8;
    wire::Arithmetic arithmetic(bytes);
    return wire::ring(party_, arithmetic, parts, wire::Phases::kGather, call);
  }
  std::array<SendSpan, plan::kMostPairs> sends;
  std::array<ReceiveSpan, plan::kMostPairs> receives;
  party_.begin();
  for (int member = 0; member < size(); ++member) {
    if (member == index()) continue;
    auto& send = sends[static_cast<std::size_t>(member)];
    auto& receive = receives[static_cast<std::size_t>(member)];
    send = SendSpan(piece(static_cast<const std::byte*>(data), at(parts, index())));
    receive = ReceiveSpan(piece(data, at(parts, member)));
    party_.add(member, &send, &receive);
  }
  return party_.pump.run(call);
}

Status Wire::broadcast(MutableBytes buffer, int root, const Call& call) {
  if (size() == 1) return Status::ok();
  const auto way = plan::choose_broadcast(size(), buffer.size, party_.speeds);
  const plan::BroadcastStep step = plan::broadcast_step(way, index(), size(), root);
  ReceiveSpan receive(buffer);
  std::array<SendSpan, plan::kMostPairs> sends;
  party_.begin();
  if (step.parent >= 0) party_.add(step.parent, nullptr, &receive);
  for (int child = 0; child < step.num_children; ++child) {
    auto& send = sends[static_cast<std::size_t>(child)];
    send = SendSpan(Bytes(buffer.data, buffer.size), step.parent >= 0 ? &receive.arrived() : nullptr);
    party_.add(step.children[static_cast<std::size_t>(child)], &send, nullptr);
  }
  return party_.pump.run(call);
}

Status Wire::alltoall(const std::vector<Pair>& pairs, const Call& call) {
  std::deque<SendSpan> sends;
  std::deque<ReceiveSpan> receives;
  party_.pump.begin();
  for (const auto& pair : pairs) {
    sends.emplace_back(pair.send);
    receives.emplace_back(pair.recv);
    party_.pump.add_new(pair.rank, &sends.back(), &receives.back());
  }
  return party_.pump.run(call);
}

// Up to kMostPairs members the headers alone say that everybody has come; else one byte goes up the heap once
// all below have come, and down again.
Status Wire::barrier(const Call& call) {
  if (size() == 1) return Status::ok();
  if (size() > plan::kMostPairs) {
    std::byte token{};
    wire::Values one{};
    one.own = one.out = &token;
    one.from = one.to = one.wire = DType::kUint8;
    one.op = ReduceOp::kMax;
    wire::Arithmetic arithmetic(one);
    return wire::tree(party_, arithmetic, 1, call);
  }
  party_.begin();
  for (int member = 0; member < size(); ++member) {
    if (member != index()) party_.add(member, nullptr, nullptr);
  }
  return party_.pump.run(call);
}

}  // namespace ring::algo
