// Time until ranks of one process, a thread each, have met and reduced once, as CSV; and what each holds
// then. usage: bench_setup [ranks=64] [transport: inproc|shm|tcp, default all]
#include <algorithm>   // for min, nth_element
#include <chrono>      // for steady_clock
#include <cstdio>      // for printf, fprintf
#include <cstdlib>     // for atoi
#include <filesystem>  // for directory_iterator
#include <iterator>    // for distance
#include <string>      // for string
#include <thread>      // for thread
#include <vector>      // for vector

#include "ring/comm/communicator.h"
#include "ring/transport/inproc/group.h"
#include "ring/transport/listener.h"

namespace {

using namespace ring;
using Clock = std::chrono::steady_clock;

constexpr comm::Options kOptions{60, "bench"};
constexpr int kRounds = 5;

std::ptrdiff_t entries(const char* folder) {
  const std::filesystem::directory_iterator all(folder);
  return std::distance(begin(all), end(all));
}

struct Rank {
  Result<transport::Mesh> mesh = Status(Code::kInternal, "not met");
  Status done = {};
};

Status reduce_once(comm::Communicator& communicator) {
  float value = 1;
  auto* data = reinterpret_cast<std::byte*>(&value);
  RING_TRY(communicator.run(comm::allreduce_of({data, data, DType::kFloat32, ReduceOp::kSum}, 1, kOptions)));
  return value == static_cast<float>(communicator.size()) ? Status() : Status(Code::kInternal, "a wrong sum");
}

// All ranks at once; prints what they hold while all are connected.
Status play(std::vector<Rank>& ranks, std::vector<transport::Listener>& listeners,
            const transport::ConnectOptions& options, bool tell) {
  std::vector<comm::Communicator> group;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < listeners.size(); ++i) {
    threads.emplace_back([&, i, mine = options]() mutable {
      mine.rank = static_cast<int>(i);
      ranks[i].mesh = listeners[i].connect(mine);
    });
  }
  for (auto& thread : threads) thread.join();
  threads.clear();
  for (auto& rank : ranks) {
    if (!rank.mesh) return rank.mesh.status();
    auto communicator = comm::Communicator::start(std::move(rank.mesh).value());
    if (!communicator) return communicator.status();
    group.push_back(std::move(communicator).value());
  }
  for (std::size_t i = 0; i < group.size(); ++i) {
    threads.emplace_back([&, i] { ranks[i].done = reduce_once(group[i]); });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& rank : ranks) RING_TRY(rank.done);
  if (tell) {
    std::printf(",%.1f,%.1f",
                static_cast<double>(entries("/proc/self/fd")) / static_cast<double>(ranks.size()),
                static_cast<double>(entries("/proc/self/task")) / static_cast<double>(ranks.size()));
  }
  return {};
}

Status once(int size, const std::string& kind, bool tell) {
  std::vector<Rank> ranks(static_cast<std::size_t>(size));
  std::vector<transport::Listener> listeners;
  transport::ConnectOptions options;
  options.run_id = "bench";
  options.secret = std::string(32, 's');
  if (kind == "inproc") {
    auto meshes = transport::inproc_meshes(size);
    if (!meshes) return meshes.status();
    for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i].mesh = std::move(meshes.value()[i]);
    return play(ranks, listeners, options, tell);
  }
  for (int rank = 0; rank < size; ++rank) {
    auto listener = transport::Listener::open({"127.0.0.1", kind, ""});
    if (!listener) return listener.status();
    options.addresses.push_back(listener.value().address());
    listeners.push_back(std::move(listener).value());
  }
  return play(ranks, listeners, options, tell);
}

bool measure(int size, const std::string& kind) {
  std::vector<double> seconds;
  std::printf("%s,%d", kind.c_str(), size);
  for (int round = 0; round < kRounds; ++round) {
    const auto begin = Clock::now();
    const Status done = once(size, kind, round == 0);
    seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
    if (!done) {
      std::fprintf(stderr, "\n%s: %s\n", kind.c_str(), done.report().c_str());
      return false;
    }
  }
  std::nth_element(seconds.begin(), seconds.begin() + kRounds / 2, seconds.end());
  std::printf(",%.1f\n", seconds[kRounds / 2] * 1e3);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const int size = argc > 1 ? std::atoi(argv[1]) : 64;
  std::vector<std::string> kinds = {"inproc", "shm", "tcp"};
  if (argc > 2) kinds = {argv[2]};
  std::printf("transport,ranks,descriptors_per_rank,threads_per_rank,median_ms\n");
  bool good = true;
  for (const auto& kind : kinds) good = measure(size, kind) && good;
  return good ? 0 : 1;
}
