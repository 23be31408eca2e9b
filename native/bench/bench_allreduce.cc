// Time of allreduce by size and transport, as CSV. Ranks are processes; a time is that of the slowest rank.
// usage: bench_allreduce [ranks=2] [transport: shm|tcp, default both] [largest size in MB=64]
#include <sys/mman.h>  // for mmap
#include <sys/wait.h>  // for waitpid
#include <unistd.h>    // for fork

#include <algorithm>  // for max, min_element, nth_element
#include <chrono>     // for steady_clock
#include <cstdio>     // for printf, fprintf
#include <cstdlib>    // for atoi
#include <string>     // for string
#include <vector>     // for vector

#include "ring/comm/communicator.h"
#include "ring/transport/listener.h"

namespace {

using namespace ring;
using Clock = std::chrono::steady_clock;

constexpr comm::Options kOptions{60, "bench"};
constexpr int kSamples = 41;
constexpr std::size_t kRewrittenFrom = 64U << 10;  // from here on buffers are rewritten before each call
constexpr std::size_t kSizes[] = {4, 1024, 64U << 10, 256U << 10, 1U << 20, 16U << 20, 64U << 20, 256U << 20};
constexpr int kNumSizes = static_cast<int>(std::size(kSizes));

// Seconds of one call, by rank, size and sample; in memory that the processes share.
using Times = double[kNumSizes][kSamples];

double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Status reduce(comm::Communicator& communicator, std::vector<float>& buffer, std::size_t count) {
  auto* data = reinterpret_cast<std::byte*>(buffer.data());
  return communicator.run(comm::allreduce_of({data, data, DType::kFloat32, ReduceOp::kSum}, count, kOptions));
}

// One sample: many calls in a row of a small buffer, one call of a large one.
Status sample(comm::Communicator& communicator, std::vector<float>& buffer, std::size_t bytes,
              double& seconds) {
  const std::size_t count = bytes / sizeof(float);
  const bool rewritten = bytes >= kRewrittenFrom;
  const int calls = rewritten ? 1 : 1000;
  std::fill_n(buffer.begin(), count, rewritten ? 1.0F : 0.0F);
  RING_TRY(communicator.run(comm::barrier_of(kOptions)));
  const auto begin = Clock::now();
  for (int i = 0; i < calls; ++i) RING_TRY(reduce(communicator, buffer, count));
  seconds = since(begin) / calls;
  if (rewritten && buffer[count - 1] != static_cast<float>(communicator.size())) {
    return {Code::kInternal, "a wrong result"};
  }
  return {};
}

Status measure(comm::Communicator& communicator, std::size_t largest, Times& times) {
  std::vector<float> buffer(largest / sizeof(float), 1.0F);
  for (int size = 0; size < kNumSizes && kSizes[size] <= largest; ++size) {
    double warm_up = 0;
    RING_TRY(sample(communicator, buffer, kSizes[size], warm_up));
    for (int i = 0; i < kSamples; ++i) {
      RING_TRY(sample(communicator, buffer, kSizes[size], times[size][i]));
    }
  }
  return {};
}

Status play(transport::Listener& listener, transport::ConnectOptions options, int rank, std::size_t largest,
            Times& times) {
  options.rank = rank;
  auto mesh = listener.connect(options);
  if (!mesh) return mesh.status();
  auto communicator = comm::Communicator::start(std::move(mesh).value());
  if (!communicator) return communicator.status();
  return measure(communicator.value(), largest, times);
}

void print(const std::string& kind, int ranks, std::size_t largest, const Times* times) {
  for (int size = 0; size < kNumSizes && kSizes[size] <= largest; ++size) {
    std::vector<double> slowest(kSamples, 0.0);
    for (int rank = 0; rank < ranks; ++rank) {
      for (int i = 0; i < kSamples; ++i) {
        const auto at = static_cast<std::size_t>(i);
        slowest[at] = std::max(slowest[at], times[rank][size][i]);
      }
    }
    const auto middle = slowest.begin() + kSamples / 2;
    std::nth_element(slowest.begin(), middle, slowest.end());
    const double best = *std::min_element(slowest.begin(), slowest.end());
    std::printf("%s,%d,%zu,%.2f,%.2f,%.3f\n", kind.c_str(), ranks, kSizes[size], best * 1e6, *middle * 1e6,
                static_cast<double>(kSizes[size]) / *middle / 1e9);
  }
}

// Opens all listeners, forks a process for each rank, waits for them.
int run(const std::string& kind, int ranks, std::size_t largest) {
  std::vector<transport::Listener> listeners;
  transport::ConnectOptions options;
  options.run_id = "bench";
  options.secret = std::string(32, 's');
  for (int rank = 0; rank < ranks; ++rank) {
    auto listener = transport::Listener::open({"127.0.0.1", kind, ""});
    if (!listener) {
      std::fprintf(stderr, "%s: %s\n", kind.c_str(), listener.status().report().c_str());
      return 1;
    }
    options.addresses.push_back(listener.value().address());
    listeners.push_back(std::move(listener).value());
  }
  const std::size_t bytes = static_cast<std::size_t>(ranks) * sizeof(Times);
  void* shared = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 1;
  auto* times = static_cast<Times*>(shared);
  for (int rank = 0; rank < ranks; ++rank) {
    if (fork() != 0) continue;
    const Status done = play(listeners[static_cast<std::size_t>(rank)], options, rank, largest, times[rank]);
    if (!done) std::fprintf(stderr, "%s, rank %d: %s\n", kind.c_str(), rank, done.report().c_str());
    _exit(done ? 0 : 1);
  }
  int failed = 0;
  int status = 0;
  while (wait(&status) > 0) failed += status == 0 ? 0 : 1;
  if (failed == 0) print(kind, ranks, largest, times);
  munmap(shared, bytes);
  return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const int ranks = argc > 1 ? std::atoi(argv[1]) : 2;
  const std::size_t largest = static_cast<std::size_t>(argc > 3 ? std::atoi(argv[3]) : 64) << 20;
  std::vector<std::string> kinds = {"shm", "tcp"};
  if (argc > 2) kinds = {argv[2]};
  std::printf("transport,ranks,bytes,best_us,median_us,median_GB_per_s\n");
  std::fflush(stdout);
  int status = 0;
  for (const auto& kind : kinds) status |= run(kind, ranks, largest);
  return status;
}
