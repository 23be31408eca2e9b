#include "ring/algo/local/opening.h"

#include <sched.h>  // for sched_getaffinity

#include <algorithm>  // for max, min
#include <chrono>     // for steady_clock
#include <cstring>    // for memcpy, memset

#include "ring/algo/local/pieces.h"

namespace ring::algo::local {
namespace {

using backend::Call;
using kernel::Stores;

constexpr std::size_t kProbedBytes = std::size_t{2} << 20;
constexpr int kRounds = 4;
constexpr double kClearly =
    0.95;  // streaming stores must win by this: results in the cache are worth something

// The processors a member may run on; numbers beyond the mask fold into it.
struct Cores {
  static constexpr std::size_t kBytes = 40;
  unsigned char mask[kBytes] = {};
  std::uint32_t stores = 0;  // what the segment's header says: 1 + Stores, 0 unknown

  void add(std::size_t processor) {
    const std::size_t bit = processor % (kBytes * 8);
    mask[bit / 8] = static_cast<unsigned char>(mask[bit / 8] | (1U << (bit % 8)));
  }
  [[nodiscard]] int count() const {
    int total = 0;
    for (const unsigned char byte : mask) total += __builtin_popcount(byte);
    return total;
  }
};
static_assert(sizeof(Cores) <= shm::kPayload);

Cores own_cores() {
  Cores cores;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (std::size_t processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(processor, &set)) cores.add(processor);
  }
  return cores;
}

// Beyond it a second step is cheaper than reading everything of everybody. Where cores are shared a step
// costs a change of process.
std::size_t one_shot_bytes(int size, bool crowded) {
  constexpr std::size_t kKilobyte = 1024;
  if (crowded) return size <= 4 ? 32 * kKilobyte : 16 * kKilobyte;
  return size <= 2 ? 16 * kKilobyte : 8 * kKilobyte;
}

struct Times {
  double plain = 1e9;
  double streaming = 1e9;
};

// One allreduce through the slots, timed.
Result<double> timed_run(Session& session, std::vector<std::byte>& send, std::vector<std::byte>& recv,
                         const Call& call) {
  std::memset(send.data(), 1, send.size());  // as its owner would
  RING_TRY(session.meet(call));
  const auto start = std::chrono::steady_clock::now();
  session.shares().cut_evenly(send.size(), 1, session.group().slot_bytes());
  const kernel::Scaling scaling;
  const Reducer reducer{DType::kUint8, ReduceOp::kMax, scaling};
  std::byte* own = recv.data() + session.shares().of(session.index()).offset;
  RING_TRY(Pieces(session, reducer, {send.data(), own, recv.data()}).run(true, call));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Result<Times> measure(Session& session, const Call& call) {
  std::vector<std::byte> send(kProbedBytes);
  std::vector<std::byte> recv(kProbedBytes);
  Times best;
  for (int round = 0; round < kRounds; ++round) {
    for (const Stores stores : {Stores::kPlain, Stores::kStreaming}) {
      session.tuning().slot_stores = stores;
      const auto seconds = timed_run(session, send, recv, call);
      if (!seconds) return seconds.status();
      double& least = stores == Stores::kPlain ? best.plain : best.streaming;
      least = std::min(least, seconds.value());
    }
  }
  session.tuning().slot_stores = Stores::kPlain;
  return best;
}

void keep(Session& session, Stores stores) {
  session.tuning().slot_stores = stores;
  session.group().seat()->segment()->header().probed.store(static_cast<std::uint32_t>(stores) + 1,
                                                           std::memory_order_relaxed);
}

}  // namespace

Status open(Session& session, const Call& call) {
  const auto& segment = *session.group().seat()->segment();
  Cores mine = own_cores();
  mine.stores = segment.header().probed.load(std::memory_order_relaxed);
  std::memcpy(session.own_payload(), &mine, sizeof mine);
  RING_TRY(session.meet(call));
  Cores all;
  for (int member = 0; member < session.size(); ++member) {
    Cores theirs;
    std::memcpy(&theirs, session.payload(member), sizeof theirs);
    for (std::size_t i = 0; i < Cores::kBytes; ++i) all.mask[i] |= theirs.mask[i];
    if (member == 0) all.stores = theirs.stores;  // one opinion, so that all choose alike
  }
  const bool crowded = segment.layout().local_size > all.count();
  session.waiter().spin(crowded ? shm::Spin::kYield : shm::Spin::kAdaptive);
  auto& tuning = session.tuning();
  tuning.probed = crowded || all.stores != 0;  // on shared cores what was just written is best kept there
  if (tuning.one_shot_bytes == 0) tuning.one_shot_bytes = one_shot_bytes(session.size(), crowded);
  if (all.stores == 1 + static_cast<std::uint32_t>(Stores::kStreaming) && !crowded) {
    tuning.slot_stores = Stores::kStreaming;
  }
  return {};
}

Status probe(Session& session, const Call& call) {
  session.tuning().probed = true;
  const auto times = measure(session, call);
  if (!times) return times.status();
  std::memcpy(session.own_payload(), &times.value(), sizeof(Times));
  RING_TRY(session.meet(call));
  Times worst{0, 0};
  for (int member = 0; member < session.size(); ++member) {
    Times theirs;
    std::memcpy(&theirs, session.payload(member), sizeof theirs);
    worst.plain = std::max(worst.plain, theirs.plain);
    worst.streaming = std::max(worst.streaming, theirs.streaming);
  }
  keep(session, worst.streaming < kClearly * worst.plain ? Stores::kStreaming : Stores::kPlain);
  return {};
}

}  // namespace ring::algo::local
