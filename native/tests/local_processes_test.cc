// Ranks as processes over one memfd: what threads cannot show.
#include <doctest/doctest.h>
#include <sys/resource.h>  // for getrusage
#include <sys/wait.h>      // for waitpid

#include <csignal>  // for kill
#include <cstdlib>  // for malloc
#include <numeric>  // for iota
#include <vector>   // for vector

#include "local_ranks.h"

namespace {

using namespace ring;
using namespace ring::testing;

// One rank in a process of its own: maps the segment anew, as its peers do.
struct Process {
  Process(const shm::Segment& made, int index) {
    auto mapped = shm::Segment::map(UniqueFd(::dup(made.fd())));
    if (!mapped) std::_Exit(90);
    std::vector<int> indices(static_cast<std::size_t>(made.layout().local_size));
    std::iota(indices.begin(), indices.end(), 0);
    auto seat = std::make_shared<shm::Seat>(std::move(mapped).value(), index);
    auto group = shm::LocalGroup::join(seat, shm::area_of_host(made), index, indices);
    if (!group) std::_Exit(92);
    local = std::make_unique<algo::Local>(std::move(group).value(), indices, interrupt, meter, unprobed());
  }
  backend::Interrupt interrupt;
  backend::Meter meter;
  std::unique_ptr<algo::Local> local;
};

using Body = std::function<Status(algo::Local&, int index)>;

// Runs `body` in one process a rank; exit codes by rank: 0 ok, else 1 + Code.
std::vector<int> in_processes(int size, const Body& body, int killed = -1) {
  auto made = shm::Segment::create(small_segment(size));
  REQUIRE(made);
  std::vector<pid_t> children;
  for (int index = 0; index < size; ++index) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      Process process(*made.value(), index);
      const Status status = body(*process.local, index);
      if (!status) std::fprintf(stderr, "rank %d: %s\n", index, status.report().c_str());
      std::_Exit(status ? 0 : 1 + static_cast<int>(status.code()));
    }
    children.push_back(child);
  }
  std::vector<int> codes;
  for (int index = 0; index < size; ++index) {
    if (index == killed) ::kill(children[static_cast<std::size_t>(index)], SIGKILL);
    int status = 0;
    ::waitpid(children[static_cast<std::size_t>(index)], &status, 0);
    codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
  }
  return codes;
}

Status sum(algo::Local& local, float* data, std::size_t count) {
  const TextAgreement what("allreduce");
  auto* bytes = reinterpret_cast<std::byte*>(data);
  return local.allreduce({bytes, bytes, DType::kFloat32, ReduceOp::kSum}, {}, count, {what, kLocalPatience});
}

Status check(const float* data, std::size_t count, float expected) {
  for (std::size_t i = 0; i < count; ++i) {
    if (data[i] != expected) return {Code::kInternal, "a wrong value at " + std::to_string(i)};
  }
  return {};
}

TEST_CASE("processes reduce private buffers of every size") {
  const auto codes = in_processes(3, [](algo::Local& local, int index) -> Status {
    for (int round = 0; round < 5; ++round) {
      for (const std::size_t count : {1, 100, 5000, 200'000}) {
        std::vector<float> data(count, static_cast<float>(index + round));
        RING_TRY(sum(local, data.data(), count));
        RING_TRY(check(data.data(), count, static_cast<float>(3 + 3 * round)));
      }
    }
    return {};
  });
  CHECK(codes == std::vector<int>{0, 0, 0});
}

TEST_CASE("processes push between allocated and between adopted buffers") {
  const auto codes = in_processes(2, [](algo::Local& local, int index) -> Status {
    constexpr std::size_t kCount = 500'000;
    const TextAgreement what("windows");
    const backend::Call call{what, kLocalPatience};
    auto window = local.allocate(kCount * 4, call);
    if (!window) return window.status();
    auto* own = static_cast<float*>(std::malloc(kCount * 4 + 4096)) + 10 * (index + 1);
    auto adopted = local.adopt(reinterpret_cast<std::byte*>(own), kCount * 4, call);
    if (!adopted) return adopted.status();
    for (int round = 0; round < 5; ++round) {
      for (float* data : {reinterpret_cast<float*>(window.value().address), own}) {
        std::fill(data, data + kCount, static_cast<float>(index + round));
        RING_TRY(sum(local, data, kCount));
        RING_TRY(check(data, kCount, static_cast<float>(1 + 2 * round)));
      }
    }
    if (local.stats().stale_windows > 0) return {Code::kInternal, "stale"};
    local.release(adopted.value());
    return check(own, kCount, 9);
  });
  CHECK(codes == std::vector<int>{0, 0});
}

TEST_CASE("a killed process leaves the others with a deadline that names it") {
  const auto codes = in_processes(
      2,
      [](algo::Local& local, int index) -> Status {
        const TextAgreement what("barrier");
        if (index == 0) {
          while (local.barrier({what, kLocalPatience})) {
          }
        }
        Status last;
        while (last) last = local.barrier({what, 0.3});
        return last.rank() == 0 ? last : Status(Code::kInternal, "another rank blamed");
      },
      0);
  CHECK(codes == std::vector<int>{-SIGKILL, 1 + static_cast<int>(Code::kCollectiveTimeout)});
}

}  // namespace
