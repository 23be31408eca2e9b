// Shared memory that cannot be had, is wrong, or whose process dies while a child of it holds everything
// open.
#include <doctest/doctest.h>
#include <fcntl.h>         // for fcntl
#include <sys/mman.h>      // for memfd_create
#include <sys/resource.h>  // for setrlimit
#include <sys/wait.h>      // for waitpid

#include <chrono>   // for steady_clock
#include <csignal>  // for kill, signal
#include <string>   // for string

#include "meet.h"
#include "ring/transport/shm/segment.h"

namespace {

using namespace ring::testing;
using namespace ring::transport;
using ring::Code;
using ring::Deadline;
using ring::UniqueFd;

// Files, and so memfds, may not grow beyond 64 KB while this lives.
class SmallFiles {
 public:
  SmallFiles() : signal_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{64 << 10, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallFiles() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, signal_);
  }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;

 private:
  rlimit before_{};
  void (*signal_)(int);
};

UniqueFd memfd(std::size_t bytes) {
  UniqueFd fd(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(::ftruncate(fd.get(), static_cast<off_t>(bytes)) == 0);
  return fd;
}

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

Pipe open_pipe() {
  int ends[2] = {-1, -1};
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// Returns when a byte comes or when nobody holds the writing end any more.
void wait_for(const UniqueFd& end) {
  char byte = 0;
  (void)!::read(end.get(), &byte, 1);
}

// Rank 1 in a process of its own: meets rank 0, forks a child that holds copies of all descriptors until
// `finish` closes, says so to `ready`, and waits to be killed.
[[noreturn]] void play_rank_one(Listener& listener, const std::vector<std::string>& addresses,
                                const UniqueFd& finish, const UniqueFd& ready) {
  auto mesh = listener.connect(options_for(1, addresses));
  if (!mesh) ::_exit(1);
  if (::fork() == 0) {
    (void)!::write(ready.get(), "r", 1);
    wait_for(finish);
    ::_exit(0);
  }
  while (true) ::pause();
}

}  // namespace

TEST_CASE("without shared memory auto falls back to tcp and keeps the reason") {
  auto listeners = open_listeners(2, "auto");
  const SmallFiles limit;
  const auto outcomes = meet_all(listeners);
  for (const auto& outcome : outcomes) {
    REQUIRE_MESSAGE(outcome, outcome.status().report());
    CHECK(outcome.value().links[outcome.value().rank == 0 ? 1 : 0]->transport() == "tcp");
  }
  CHECK(outcomes[1].value().reasons[0].find("shared memory of") != std::string::npos);
  CHECK(outcomes[0].value().reasons[1].find("could not share memory") != std::string::npos);
}

TEST_CASE("without shared memory transport=shm is an error that names the size") {
  auto listeners = open_listeners(2, "shm");
  const SmallFiles limit;
  const auto outcomes = meet_all(listeners, 1);
  CHECK(outcomes[1].status().code() == Code::kRendezvous);
  CHECK(outcomes[1].status().message().find(std::to_string(pair_bytes(512 << 10))) != std::string::npos);
  CHECK_FALSE(outcomes[0]);
}

TEST_CASE("a segment is mapped only when it is what it should be") {
  constexpr std::size_t kRing = 4096;
  auto made = shm::create_segment(kRing);
  REQUIRE(made);
  UniqueFd copy(::fcntl(made.value().fd.get(), F_DUPFD_CLOEXEC, 0));
  CHECK(shm::map_segment(std::move(copy), kRing));
  UniqueFd other(::fcntl(made.value().fd.get(), F_DUPFD_CLOEXEC, 0));
  CHECK(shm::map_segment(std::move(other), 2 * kRing).status().code() == Code::kMismatch);
  CHECK(shm::map_segment(memfd(pair_bytes(kRing)), kRing).status().code() ==
        Code::kMismatch);  // could shrink
  CHECK(shm::map_segment(memfd(100), kRing).status().code() == Code::kMismatch);
  CHECK(shm::map_segment(memfd(0), 0).status().code() == Code::kMismatch);
  CHECK(::ftruncate(made.value().fd.get(), 0) != 0);  // sealed
  CHECK(shm::create_segment(5000).status().code() == Code::kInvalidArgument);
}

TEST_CASE("a killed process is noticed at once, even when a child of it holds its sockets open") {
  auto listeners = open_listeners(2, "shm");
  const auto addresses = addresses_of(listeners);
  Pipe finish = open_pipe();
  Pipe ready = open_pipe();
  const pid_t process = ::fork();
  REQUIRE(process >= 0);
  if (process == 0) {
    finish.write.reset();
    play_rank_one(listeners[1], addresses, finish.read, ready.write);
  }
  listeners[1].close();
  auto mesh = listeners[0].connect(options_for(0, addresses));
  REQUIRE_MESSAGE(mesh, mesh.status().report());
  wait_for(ready.read);
  ::kill(process, SIGKILL);
  const auto start = std::chrono::steady_clock::now();
  std::vector<pollfd> fds;
  mesh.value().lifelines[1]->watch(fds);
  ::poll(fds.data(), fds.size(), 30'000);
  const auto lost = mesh.value().lifelines[1]->check();
  CHECK(lost.code() == Code::kPeerLost);
  CHECK(lost.rank() == 1);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(2));
  ::waitpid(process, nullptr, 0);
}
