// Shared memory that cannot be had, is wrong, or whose process dies while a child of it holds everything
// open.
#include <doctest/doctest.h>
#include <fcntl.h>         // for O_CLOEXEC
#include <sys/resource.h>  // for setrlimit
#include <sys/wait.h>      // for waitpid

#include <chrono>   // for steady_clock
#include <csignal>  // for kill, signal
#include <string>   // for string

#include "meet.h"

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

TEST_CASE("a rank that cannot share memory says so in its address, and all take tcp") {
  std::vector<Listener> listeners;
  {
    const SmallFiles limit;
    listeners = open_listeners(1, "auto");
    CHECK(Listener::open({"127.0.0.1", "shm", ""}).status().code() == Code::kSystem);
  }
  listeners.push_back(std::move(open_listeners(1, "auto").front()));
  const auto outcomes = meet_all(listeners);
  for (const auto& outcome : outcomes) {
    REQUIRE_MESSAGE(outcome, outcome.status().report());
    CHECK(transports_of(outcome.value()).begin()->second == "tcp");
  }
  CHECK(outcomes[0].value().reasons[1] == "same machine, but this rank cannot share memory");
  CHECK(outcomes[1].value().reasons[0] == "same machine, but the other rank cannot share memory");
}

TEST_CASE("memory that is gone when the ranks meet is one error for all, at once") {
  for (const char* kind : {"auto", "shm"}) {
    auto listeners = open_listeners(3, kind);
    const SmallFiles limit;
    const auto start = std::chrono::steady_clock::now();
    for (const auto& outcome : meet_all(listeners)) {
      CHECK(outcome.status().code() == Code::kSystem);
      CHECK(outcome.status().rank() == 0);
      CHECK(outcome.status().message().find("transport=tcp does without") != std::string::npos);
    }
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
  }
}

TEST_CASE("a killed process is noticed at once, even when a child of it lives on") {
  for (const char* kind : {"shm", "tcp"}) {
    auto listeners = open_listeners(2, kind);
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
    ring::Status lost;
    while (lost.is_ok() && std::chrono::steady_clock::now() - start < std::chrono::seconds(30)) {
      std::vector<pollfd> fds;
      mesh.value().lifelines[1]->watch(fds);
      ::poll(fds.data(), fds.size(), 1000);
      lost = mesh.value().lifelines[1]->check();
    }
    CHECK(lost.code() == Code::kPeerLost);
    CHECK(lost.rank() == 1);
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(2));
    ::waitpid(process, nullptr, 0);
  }
}
