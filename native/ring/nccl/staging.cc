#include "ring/nccl/staging.h"

#include <algorithm>  // for max, min
#include <chrono>     // for microseconds
#include <thread>     // for sleep_for, yield

#include "ring/plan/parts.h"

namespace ring::nccl {
namespace {

using backend::Counts;
using backend::Reduction;

constexpr std::size_t kSlots = 3;
constexpr int kEagerPolls = 200;
constexpr std::chrono::microseconds kPause{20};

std::uint64_t steps_of(std::uint64_t total, std::uint64_t chunk) {
  return (total + chunk - 1) / chunk;
}

// The part of [0, total) that belongs to a step.
struct Range {
  std::uint64_t offset;
  std::uint64_t count;
};
Range range_of(std::uint64_t step, std::uint64_t chunk, std::uint64_t total) {
  const std::uint64_t offset = std::min(step * chunk, total);
  return {offset, std::min(chunk, total - offset)};
}

// By rank, what a step takes of each part.
Counts counts_of(const Counts& parts, std::uint64_t step, std::uint64_t chunk) {
  Counts counts;
  for (const auto part : parts) counts.push_back(range_of(step, chunk, part).count);
  return counts;
}

std::uint64_t longest(const Counts& counts) {
  return counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
}

// What NCCL's rule leaves to the host's: halves are rounded once, integer means are exact.
Reduction on(const Reduction& what, std::byte* send, std::byte* recv) {
  Reduction there = what;
  there.send = send;
  there.recv = recv;
  return there;
}

}  // namespace

Result<std::unique_ptr<Staging>> Staging::make(DevicePtr device, std::size_t slot_bytes) {
  std::unique_ptr<Staging> staging(new Staging(std::move(device), slot_bytes));
  RING_TRY(staging->prepare());
  return staging;
}

Status Staging::prepare() {
  auto last = make_event(device_);
  if (!last) return last.status();
  last_ = std::move(last).value();
  for (OwnedStream* stream : {&down_, &up_}) {
    auto made = make_stream(device_);
    if (!made) return made.status();
    *stream = std::move(made).value();
  }
  for (std::size_t i = 0; i < kSlots; ++i) {
    auto sent = make_pinned(device_, slot_bytes_);
    if (!sent) return sent.status();
    auto received = make_pinned(device_, slot_bytes_);
    if (!received) return received.status();
    auto down = make_event(device_);
    if (!down) return down.status();
    auto up = make_event(device_);
    if (!up) return up.status();
    slots_.push_back({std::move(sent).value(), std::move(received).value(), std::move(down).value(),
                      std::move(up).value()});
  }
  return Status::ok();
}

Status Staging::enter(const Scene& scene) {
  for (const OwnedStream* stream : {&down_, &up_}) {
    RING_TRY(device_->check(device_->api().stream_wait(stream->get(), scene.ready, 0), "cuStreamWaitEvent"));
  }
  return device_->check(device_->api().stream_wait(down_.get(), last_.get(), 0), "cuStreamWaitEvent");
}

Status Staging::leave(const Scene& scene) {
  RING_TRY(device_->check(device_->api().event_record(last_.get(), up_.get()), "cuEventRecord"));
  return device_->check(device_->api().event_record(scene.ended, up_.get()), "cuEventRecord");
}

Status Staging::finish(const Scene& scene) {
  const Current current(*device_);
  RING_TRY(enter(scene));
  return leave(scene);
}

Status Staging::copy_down(const Scene& scene, Slot& slot, const Pieces& pieces) {
  if (slot.used) RING_TRY(await(scene, slot.up, "to take a chunk"));
  slot.used = true;
  auto* to = static_cast<std::byte*>(slot.sent.get());
  for (const auto& piece : pieces) {
    if (piece.bytes == 0) continue;
    RING_TRY(device_->check(
        device_->api().copy(reinterpret_cast<DevicePointer>(to),
                            reinterpret_cast<DevicePointer>(piece.device), piece.bytes, down_.get()),
        "cuMemcpyAsync to the host"));
    to += piece.bytes;
  }
  return device_->check(device_->api().event_record(slot.down.get(), down_.get()), "cuEventRecord");
}

Status Staging::copy_up(Slot& slot, const Pieces& pieces) {
  const auto* from = static_cast<const std::byte*>(slot.received.get());
  for (const auto& piece : pieces) {
    if (piece.bytes == 0) continue;
    RING_TRY(
        device_->check(device_->api().copy(reinterpret_cast<DevicePointer>(piece.device),
                                           reinterpret_cast<DevicePointer>(from), piece.bytes, up_.get()),
                       "cuMemcpyAsync to the device"));
    from += piece.bytes;
  }
  return device_->check(device_->api().event_record(slot.up.get(), up_.get()), "cuEventRecord");
}

Status Staging::await(const Scene& scene, const OwnedEvent& event, const char* what) {
  for (int polls = 0;; ++polls) {
    const int code = device_->api().event_query(event.get());
    if (code != kCudaNotReady) return device_->check(code, "cuEventQuery");
    if (scene.interrupt.raised()) return {Code::kAborted, "interrupted", scene.backend.rank()};
    if (scene.call.deadline.passed()) {
      return {Code::kCollectiveTimeout,
              device_->describe() + " of rank " + std::to_string(scene.backend.rank()) + " did not come " +
                  what + " in time: what was queued on its stream before still runs, or it hangs",
              scene.backend.rank(), scene.backend.host_of(scene.backend.rank())};
    }
    if (polls < kEagerPolls) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kPause);
    }
  }
}

Status Staging::run(const Scene& scene, const Pipeline& pipeline) {
  const Current current(*device_);
  RING_TRY(enter(scene));
  std::uint64_t ahead = 0;
  for (std::uint64_t step = 0; step < pipeline.steps; ++step) {
    for (; ahead < std::min(pipeline.steps, step + kSlots); ++ahead) {
      RING_TRY(copy_down(scene, slots_[ahead % kSlots], pipeline.down(ahead)));
    }
    Slot& slot = slots_[step % kSlots];
    RING_TRY(await(scene, slot.down, "to give a chunk"));
    RING_TRY(pipeline.ring(step, static_cast<std::byte*>(slot.sent.get()),
                           static_cast<std::byte*>(slot.received.get())));
    RING_TRY(copy_up(slot, pipeline.up(step)));
  }
  return leave(scene);
}

Status Staging::allreduce(const Scene& scene, const Reduction& what, std::uint64_t count) {
  const std::size_t width = size_of(what.dtype);
  const std::uint64_t chunk = slot_bytes_ / width;
  const auto piece = [&](std::byte* data, std::uint64_t step) {
    const Range range = range_of(step, chunk, count);
    return Pieces{{data + range.offset * width, range.count * width}};
  };
  return run(scene, {steps_of(count, chunk),
                     [&](std::uint64_t step) { return piece(const_cast<std::byte*>(what.send), step); },
                     [&](std::uint64_t step, std::byte* sent, std::byte* received) {
                       const auto part = range_of(step, chunk, count).count;
                       return scene.backend.allreduce(on(what, sent, received), part, scene.call);
                     },
                     [&](std::uint64_t step) { return piece(what.recv, step); }});
}

Status Staging::reducescatter(const Scene& scene, const Reduction& what, const Counts& counts) {
  const std::size_t width = size_of(what.dtype);
  const std::uint64_t chunk = std::max<std::uint64_t>(1, slot_bytes_ / width / counts.size());
  const auto parts = plan::parts_of(counts);
  const auto own = static_cast<std::size_t>(scene.backend.rank());
  return run(scene,
             {steps_of(longest(counts), chunk),
              [&](std::uint64_t step) {
                Pieces pieces;
                for (const auto& part : parts) {
                  const Range range = range_of(step, chunk, part.count);
                  pieces.push_back({const_cast<std::byte*>(what.send) + (part.offset + range.offset) * width,
                                    range.count * width});
                }
                return pieces;
              },
              [&](std::uint64_t step, std::byte* sent, std::byte* received) {
                return scene.backend.reducescatter(on(what, sent, received), counts_of(counts, step, chunk),
                                                   scene.call);
              },
              [&](std::uint64_t step) {
                const Range range = range_of(step, chunk, counts[own]);
                return Pieces{{what.recv + range.offset * width, range.count * width}};
              }});
}

Status Staging::allgather(const Scene& scene, const std::byte* send, std::byte* recv, const Counts& bytes) {
  const std::uint64_t chunk = std::max<std::uint64_t>(1, slot_bytes_ / bytes.size());
  const auto parts = plan::parts_of(bytes);
  const auto own = static_cast<std::size_t>(scene.backend.rank());
  return run(scene, {steps_of(longest(bytes), chunk),
                     [&](std::uint64_t step) {
                       const Range range = range_of(step, chunk, bytes[own]);
                       return Pieces{{const_cast<std::byte*>(send) + range.offset, range.count}};
                     },
                     [&](std::uint64_t step, std::byte* sent, std::byte* received) {
                       const auto counts = counts_of(bytes, step, chunk);
                       return scene.backend.allgather(Bytes(sent, counts[own]), received, counts, scene.call);
                     },
                     [&](std::uint64_t step) {
                       Pieces pieces;
                       for (const auto& part : parts) {
                         const Range range = range_of(step, chunk, part.count);
                         pieces.push_back({recv + part.offset + range.offset, range.count});
                       }
                       return pieces;
                     }});
}

Status Staging::broadcast(const Scene& scene, std::byte* buffer, std::uint64_t bytes, int root) {
  const bool mine = scene.backend.rank() == root;
  const auto piece = [&](std::uint64_t step, bool wanted) {
    const Range range = range_of(step, slot_bytes_, bytes);
    return wanted ? Pieces{{buffer + range.offset, range.count}} : Pieces{};
  };
  return run(scene, {steps_of(bytes, slot_bytes_), [&](std::uint64_t step) { return piece(step, mine); },
                     [&](std::uint64_t step, std::byte* sent, std::byte* received) {
                       const auto part = range_of(step, slot_bytes_, bytes).count;
                       return scene.backend.broadcast(MutableBytes(mine ? sent : received, part), root,
                                                      scene.call);
                     },
                     [&](std::uint64_t step) { return piece(step, !mine); }});
}

Status Staging::alltoall(const Scene& scene, const std::byte* send, const Counts& send_bytes, std::byte* recv,
                         const Counts& recv_bytes) {
  const std::uint64_t chunk = std::max<std::uint64_t>(1, slot_bytes_ / send_bytes.size());
  // The longest part of all ranks: each knows only its own.
  std::int64_t most = static_cast<std::int64_t>(std::max(longest(send_bytes), longest(recv_bytes)));
  auto* value = reinterpret_cast<std::byte*>(&most);
  RING_TRY(scene.backend.allreduce({value, value, DType::kInt64, ReduceOp::kMax}, 1, scene.call));
  const auto pieces = [&](std::byte* data, const Counts& counts, std::uint64_t step) {
    Pieces found;
    for (const auto& part : plan::parts_of(counts)) {
      const Range range = range_of(step, chunk, part.count);
      found.push_back({data + part.offset + range.offset, range.count});
    }
    return found;
  };
  return run(scene,
             {steps_of(static_cast<std::uint64_t>(most), chunk),
              [&](std::uint64_t step) { return pieces(const_cast<std::byte*>(send), send_bytes, step); },
              [&](std::uint64_t step, std::byte* sent, std::byte* received) {
                return scene.backend.alltoall(sent, counts_of(send_bytes, step, chunk), received,
                                              counts_of(recv_bytes, step, chunk), scene.call);
              },
              [&](std::uint64_t step) { return pieces(recv, recv_bytes, step); }});
}

}  // namespace ring::nccl
