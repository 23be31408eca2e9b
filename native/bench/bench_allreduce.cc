// Time of allreduce by size and transport, as CSV. Ranks are threads of this process.
// usage: bench_allreduce [ranks=2] [transport: inproc|shm|tcp, default all]
#include <algorithm>  // for min, nth_element
#include <chrono>     // for steady_clock
#include <cstdio>     // for printf, fprintf
#include <cstdlib>    // for atoi
#include <string>     // for string
#include <thread>     // for thread
#include <vector>     // for vector

#include "ring/comm/communicator.h"
#include "ring/transport/inproc/group.h"
#include "ring/transport/listener.h"

namespace {

using namespace ring;
using Clock = std::chrono::steady_clock;
using Group = std::vector<comm::Communicator>;

constexpr double kTimeout = 60;

Result<std::vector<transport::Mesh>> meet(int size, const std::string& kind) {
  std::vector<transport::Listener> listeners;
  transport::ConnectOptions options;
  for (int rank = 0; rank < size; ++rank) {
    auto listener = transport::Listener::open({"127.0.0.1", kind, ""});
    if (!listener) return listener.status();
    options.addresses.push_back(listener.value().address());
    listeners.push_back(std::move(listener).value());
  }
  options.run_id = "bench";
  options.secret = std::string(32, 's');
  std::vector<Result<transport::Mesh>> met;
  for (int rank = 0; rank < size; ++rank) met.emplace_back(Status(Code::kInternal, "not run"));
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < listeners.size(); ++i) {
    threads.emplace_back([&, i, mine = options]() mutable {
      mine.rank = static_cast<int>(i);
      met[i] = listeners[i].connect(mine);
    });
  }
  for (auto& thread : threads) thread.join();
  std::vector<transport::Mesh> meshes;
  for (auto& one : met) {
    if (!one) return one.status();
    meshes.push_back(std::move(one).value());
  }
  return meshes;
}

Result<Group> start(int size, const std::string& kind) {
  auto meshes = kind == "inproc" ? transport::inproc_meshes(size) : meet(size, kind);
  if (!meshes) return meshes.status();
  Group group;
  for (auto& mesh : meshes.value()) {
    auto communicator = comm::Communicator::start(std::move(mesh));
    if (!communicator) return communicator.status();
    group.push_back(std::move(communicator).value());
  }
  return group;
}

// One allreduce on all ranks; seconds until the last is done, below 0 on failure.
double run_once(Group& group, std::vector<std::vector<float>>& buffers) {
  const auto start = Clock::now();
  std::vector<backend::WorkPtr> works;
  for (std::size_t i = 0; i < group.size(); ++i) {
    auto* data = reinterpret_cast<std::byte*>(buffers[i].data());
    auto work =
        group[i].allreduce({data, data, DType::kFloat32, ReduceOp::kSum}, buffers[i].size(), {kTimeout});
    if (!work) return -1;
    works.push_back(work.value());
  }
  for (const auto& work : works) {
    if (!work->wait_for(kTimeout) || !work->status()) return -1;
  }
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void measure(Group& group, const std::string& kind, std::size_t bytes) {
  std::vector<std::vector<float>> buffers(group.size(), std::vector<float>(bytes / sizeof(float)));
  const int repeats = bytes > (1U << 22) ? 9 : 201;
  std::vector<double> seconds;
  for (int i = 0; i < repeats; ++i) seconds.push_back(run_once(group, buffers));
  const auto middle = seconds.begin() + repeats / 2;
  std::nth_element(seconds.begin(), middle, seconds.end());
  const double best = *std::min_element(seconds.begin(), seconds.end());
  std::printf("%s,%zu,%zu,%.1f,%.1f,%.3f\n", kind.c_str(), group.size(), bytes, best * 1e6, *middle * 1e6,
              static_cast<double>(bytes) / *middle / 1e9);
}

}  // namespace

int main(int argc, char** argv) {
  const int size = argc > 1 ? std::atoi(argv[1]) : 2;
  const std::vector<std::string> kinds =
      argc > 2 ? std::vector<std::string>{argv[2]} : std::vector<std::string>{"inproc", "shm", "tcp"};
  std::printf("transport,ranks,bytes,best_us,median_us,median_GB_per_s\n");
  for (const auto& kind : kinds) {
    auto group = start(size, kind);
    if (!group) {
      std::fprintf(stderr, "%s: %s\n", kind.c_str(), group.status().report().c_str());
      return 1;
    }
    for (const std::size_t bytes : {4UL, 1024UL, 65536UL, 1UL << 20, 16UL << 20, 64UL << 20}) {
      measure(group.value(), kind, bytes);
    }
  }
  return 0;
}
