// Time of the collectives inside a host by size and way, as CSV: one process a rank, buffers written anew by
// their owner before every iteration, time = the slowest rank's. The ways take turns, so that they share
// whatever else runs on the machine.
// usage: bench_local [ranks=2] [most bytes=268435456] [seconds a size=1] [pin]
// pin: each rank to a core of its own, which shows what the code can do where the scheduler lets it.
#include <sched.h>     // for sched_setaffinity
#include <sys/mman.h>  // for mmap
#include <sys/wait.h>  // for waitpid
#include <unistd.h>    // for fork

#include <algorithm>  // for fill, max, min, nth_element
#include <array>      // for array
#include <atomic>     // for atomic
#include <chrono>     // for steady_clock
#include <cstdio>     // for printf, fprintf
#include <cstdlib>    // for atoi, atoll, atof
#include <memory>     // for unique_ptr
#include <numeric>    // for iota
#include <string>     // for string
#include <vector>     // for vector

#include "ring/algo/local/local.h"
#include "ring/shm/segment.h"

namespace {

using namespace ring;
using Clock = std::chrono::steady_clock;
using kernel::Stores;

constexpr double kTimeout = 60;
constexpr int kMostSamples = 2001;
constexpr int kMostRanks = 64;

struct Way {
  const char* name;
  algo::LocalSettings settings;
  bool registered;
};

std::vector<Way> ways() {
  std::vector<Way> all;
  const auto add = [&](const char* name, Stores slots, Stores push, bool registered) {
    algo::LocalSettings settings;
    settings.probe = false;
    settings.use_windows = registered;
    settings.slot_stores = slots;
    settings.push_stores = push;
    all.push_back({name, settings, registered});
  };
  add("private_plain", Stores::kPlain, Stores::kPlain, false);
  add("private_streaming", Stores::kStreaming, Stores::kPlain, false);
  add("push_plain", Stores::kPlain, Stores::kPlain, true);
  add("push_streaming", Stores::kPlain, Stores::kStreaming, true);
  return all;
}

class BenchAgreement final : public backend::Agreement {
 public:
  [[nodiscard]] Bytes header() const override { return {header_.data(), header_.size()}; }
  [[nodiscard]] std::uint64_t hash() const override { return 7; }
  [[nodiscard]] std::string name() const override { return "bench"; }
  [[nodiscard]] Status compare(int, Bytes) const override { return {Code::kMismatch, "bench"}; }

 private:
  std::array<std::byte, backend::kHeaderBytes> header_{};
};

// Times of all ranks, in memory that they share.
struct Board {
  std::atomic<int> failed;
  float microseconds[kMostRanks][kMostSamples];
};

struct Lane {
  const char* name = nullptr;
  std::unique_ptr<algo::Local> local;
  float* data = nullptr;
  algo::Window window;
  std::vector<float> memory;
};

class Rank {
 public:
  Rank(std::shared_ptr<shm::Segment> segment, int index, int size, std::size_t most_bytes, Board& board)
      : index_(index), size_(size), board_(board), seat_(std::make_shared<shm::Seat>(segment, index)) {
    std::vector<int> indices(static_cast<std::size_t>(size));
    std::iota(indices.begin(), indices.end(), 0);
    for (const auto& way : ways()) {
      auto& lane = lanes_.emplace_back();
      lane.name = way.name;
      const auto& layout = segment->layout();  // as many areas as ways, side by side
      const auto offset = layout.groups_begin() + layout.group_bytes(size) * (lanes_.size() - 1);
      auto group = shm::LocalGroup::join(seat_, {offset, size}, index, indices);
      if (!group) fail(group.status());
      lane.local =
          std::make_unique<algo::Local>(std::move(group).value(), indices, interrupt_, meter_, way.settings);
      if (way.registered) {
        auto window = lane.local->allocate(most_bytes, call());
        if (!window) fail(window.status());
        lane.window = std::move(window).value();
        lane.data = reinterpret_cast<float*>(lane.window.address);
      } else {
        lane.memory.assign(most_bytes / sizeof(float), 0);
        lane.data = lane.memory.data();
      }
    }
  }

  // Samples of one size; ways take turns every few calls.
  void measure(std::size_t bytes, double seconds) {
    for (auto& lane : lanes_) (void)sample(lane, bytes);
    const int turn = bytes <= 65536 ? 100 : bytes <= (1U << 20) ? 10 : 1;
    std::vector<std::vector<float>> samples(lanes_.size());
    const int rounds = rounds_of(bytes, seconds, turn);
    for (int round = 0; round < rounds; ++round) {
      for (std::size_t way = 0; way < lanes_.size(); ++way) {
        for (int i = 0; i < turn; ++i) samples[way].push_back(sample(lanes_[way], bytes));
      }
    }
    for (std::size_t way = 0; way < lanes_.size(); ++way) report(way, bytes, samples[way]);
  }

 private:
  [[nodiscard]] backend::Call call() const { return {agreement_, kTimeout}; }
  [[noreturn]] void fail(const Status& status) {
    std::fprintf(stderr, "rank %d: %s\n", index_, status.report().c_str());
    board_.failed = 1;
    std::_Exit(1);
  }

  float sample(Lane& lane, std::size_t bytes) {
    const std::size_t count = bytes / sizeof(float);
    std::fill(lane.data, lane.data + count, 1.0F);
    Status status = lane.local->barrier(call());
    if (!status) fail(status);
    const auto start = Clock::now();
    auto* data = reinterpret_cast<std::byte*>(lane.data);
    status = lane.local->allreduce({data, data, DType::kFloat32, ReduceOp::kSum}, {}, count, call());
    const auto end = Clock::now();
    if (!status) fail(status);
    if (count > 0 && lane.data[count - 1] != static_cast<float>(size_)) {
      fail({Code::kInternal, "a wrong sum"});
    }
    return std::chrono::duration<float, std::micro>(end - start).count();
  }

  // The same on all ranks: rank 0 decides by what its first samples took.
  int rounds_of(std::size_t bytes, double seconds, int turn) {
    float took = sample(lanes_[0], bytes) * static_cast<float>(turn) * static_cast<float>(lanes_.size());
    auto* data = reinterpret_cast<std::byte*>(&took);
    (void)lanes_[0].local->broadcast(MutableBytes(data, sizeof took), 0, call());
    const double fit = seconds * 1e6 / (static_cast<double>(took) * 1.5 + 100);
    return std::max(5, std::min(static_cast<int>(fit), kMostSamples / turn));
  }

  void report(std::size_t way, std::size_t bytes, const std::vector<float>& samples) {
    std::copy(samples.begin(), samples.end(), board_.microseconds[index_]);
    (void)lanes_[way].local->barrier(call());
    if (index_ == 0) {
      std::vector<float> slowest(samples.size(), 0);
      for (std::size_t i = 0; i < samples.size(); ++i) {
        for (int rank = 0; rank < size_; ++rank) {
          slowest[i] = std::max(slowest[i], board_.microseconds[rank][i]);
        }
      }
      const auto middle = slowest.begin() + static_cast<std::ptrdiff_t>(slowest.size() / 2);
      std::nth_element(slowest.begin(), middle, slowest.end());
      const double median = static_cast<double>(*middle);
      const double least = static_cast<double>(*std::min_element(slowest.begin(), slowest.end()));
      std::printf("%s,%d,%zu,%zu,%.2f,%.2f,%.3f\n", lanes_[way].name, size_, bytes, slowest.size(), median,
                  least, static_cast<double>(bytes) / median / 1e3);
      std::fflush(stdout);
    }
    (void)lanes_[way].local->barrier(call());
  }

  int index_;
  int size_;
  Board& board_;
  std::shared_ptr<shm::Seat> seat_;
  BenchAgreement agreement_;
  backend::Interrupt interrupt_;
  backend::Meter meter_;
  std::vector<Lane> lanes_;
};

[[noreturn]] void play(const shm::Segment& made, int index, int size, std::size_t most_bytes, double seconds,
                       Board& board) {
  auto mapped = shm::Segment::map(UniqueFd(::dup(made.fd())));
  if (!mapped) std::_Exit(1);
  {
    Rank rank(std::move(mapped).value(), index, size, most_bytes, board);
    for (std::size_t bytes = 4; bytes <= most_bytes; bytes *= bytes < 1024 ? 16 : 4) {
      rank.measure(bytes, seconds);
    }
  }
  std::_Exit(0);
}

void pin_to_core(int index) {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  int wanted = index % CPU_COUNT(&allowed);
  for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed) || wanted-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    (void)::sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int size = std::min(argc > 1 ? std::atoi(argv[1]) : 2, kMostRanks);
  const auto most = static_cast<std::size_t>(argc > 2 ? std::atoll(argv[2]) : 256LL << 20);
  const double seconds = argc > 3 ? std::atof(argv[3]) : 1;
  const bool pinned = argc > 4 && std::string(argv[4]) == "pin";
  shm::SegmentOptions options;
  options.local_size = size;
  const auto segment = shm::Segment::create(options);
  if (!segment) {
    std::fprintf(stderr, "%s\n", segment.status().report().c_str());
    return 1;
  }
  void* shared = ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 1;
  auto* board = new (shared) Board;
  std::printf("way,ranks,bytes,samples,median_us,min_us,median_GB_per_s\n");
  std::fflush(stdout);
  std::vector<pid_t> children;
  for (int index = 0; index < size; ++index) {
    const pid_t child = ::fork();
    if (child == 0 && pinned) pin_to_core(index);
    if (child == 0) play(*segment.value(), index, size, most, seconds, *board);
    children.push_back(child);
  }
  int failed = 0;
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    failed |= status;
  }
  return failed != 0;
}
