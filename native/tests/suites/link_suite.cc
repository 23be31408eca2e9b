#include "suites/link_suite.h"

#include <sys/eventfd.h>  // for eventfd
#include <unistd.h>       // for write

#include <algorithm>  // for min
#include <chrono>     // for steady_clock
#include <cstdint>    // for uint64_t
#include <random>     // for mt19937
#include <string>     // for string
#include <thread>     // for thread

#include "ring/base/unique_fd.h"

// doctest's macros cost too much inside loops and are slow under sanitizers: loops count, then one CHECK
// looks.
namespace ring::testing {
namespace {

using namespace transport;
using Clock = std::chrono::steady_clock;

constexpr double kPatience = 60;

Link& link(Mesh& mesh, int peer) {
  return *mesh.links[static_cast<std::size_t>(peer)];
}

std::byte pattern(std::size_t position, int rank) {
  return static_cast<std::byte>((position * 2654435761u >> 7) + static_cast<std::size_t>(rank));
}

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// One rank that sends `total` patterned bytes to the other while it receives as many, in pieces of random
// size.
struct Streamer {
  Mesh& mesh;
  std::size_t total;
  std::mt19937 random;
  std::size_t sent = 0;
  std::size_t received = 0;
  std::size_t wrong = 0;
  Status failure{};

  int self() const { return mesh.rank; }
  int peer() const { return 1 - mesh.rank; }

  std::size_t piece(std::size_t left) { return std::min<std::size_t>(left, 1 + random() % 70'000); }

  bool send_piece() {
    std::vector<std::byte> bytes(piece(total - sent));
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = pattern(sent + i, self());
    const auto moved = link(mesh, peer()).send_some(Bytes(bytes.data(), bytes.size()));
    if (!moved) failure = moved.status();
    const std::size_t count = moved ? moved.value() : 0;
    sent += count;
    return count > 0;
  }

  bool receive_piece() {
    std::vector<std::byte> bytes(piece(total - received));
    const auto moved = link(mesh, peer()).recv_some(MutableBytes(bytes.data(), bytes.size()));
    if (!moved) failure = moved.status();
    const std::size_t count = moved ? moved.value() : 0;
    for (std::size_t i = 0; i < count; ++i) wrong += bytes[i] != pattern(received + i, peer());
    received += count;
    return count > 0;
  }

  void run() {
    while (failure.is_ok() && (sent < total || received < total)) {
      const bool moved_out = sent < total && send_piece();
      const bool moved_in = received < total && failure.is_ok() && receive_piece();
      if (moved_out || moved_in) continue;
      const unsigned interest = (sent < total ? kCanSend : 0u) | (received < total ? kCanRecv : 0u);
      const auto woken = wait_any(mesh, {{peer(), interest}}, -1, Deadline::after(kPatience));
      if (!woken) failure = woken.status();
      if (woken && !woken.value()) failure = Status(Code::kInternal, "nothing moved for a long time");
    }
  }
};

void stream_both_ways(std::vector<Mesh> meshes, std::size_t total) {
  Streamer one{meshes[0], total, std::mt19937(1)};
  Streamer two{meshes[1], total, std::mt19937(2)};
  std::thread other([&] { two.run(); });
  one.run();
  other.join();
  for (const Streamer* streamer : {&one, &two}) {
    CHECK_MESSAGE(streamer->failure.is_ok(), streamer->failure.message());
    CHECK(streamer->received == total);
    CHECK(streamer->wrong == 0);
  }
}

// Sleeps whenever the bytes are not all there yet: every ping is a chance to lose a wake-up.
Status receive_number(Mesh& mesh, std::uint32_t& number) {
  const int peer = 1 - mesh.rank;
  MutableBytes left(&number, sizeof number);
  while (left.size > 0) {
    const auto woken = wait_any(mesh, {{peer, kCanRecv}}, -1, Deadline::after(kPatience));
    if (!woken) return woken.status();
    if (!woken.value()) return {Code::kInternal, "a wake-up was lost"};
    const auto moved = link(mesh, peer).recv_some(left);
    if (!moved) return moved.status();
    left = left.from(moved.value());
  }
  return {};
}

Status send_number(Mesh& mesh, std::uint32_t number) {
  const auto moved = link(mesh, 1 - mesh.rank).send_some(Bytes(&number, sizeof number));
  if (!moved) return moved.status();
  return moved.value() == sizeof number ? Status() : Status(Code::kInternal, "four bytes did not fit");
}

Status play(Mesh& mesh, int pings) {
  for (int i = 0; i < pings; ++i) {
    std::uint32_t number = static_cast<std::uint32_t>(i);
    if (mesh.rank == 0) RING_TRY(send_number(mesh, number));
    RING_TRY(receive_number(mesh, number));
    if (number != static_cast<std::uint32_t>(i)) return {Code::kInternal, "another number came back"};
    if (mesh.rank == 1) RING_TRY(send_number(mesh, number));
  }
  return {};
}

// Sends until nothing fits any more; returns how much did.
std::size_t fill(Mesh& mesh, int peer) {
  const std::vector<std::byte> block(1 << 16);
  std::size_t total = 0;
  int refusals = 0;
  while (refusals < 100) {  // a socket makes room for a while as the kernel moves bytes to the other side
    const auto moved = link(mesh, peer).send_some(Bytes(block.data(), block.size()));
    REQUIRE(moved);
    refusals = moved.value() == 0 ? refusals + 1 : 0;
    total += moved.value();
  }
  return total;
}

// Reads `total` bytes of rank 1, or until the stream ends.
std::size_t receive_all(Mesh& mesh, std::byte* into, std::size_t total) {
  std::size_t got = 0;
  const auto deadline = Deadline::after(kPatience);
  while (got < total && !link(mesh, 1).ended() && !deadline.passed()) {
    const auto moved = link(mesh, 1).recv_some(MutableBytes(into + got, total - got));
    REQUIRE(moved);
    got += moved.value();
    if (moved.value() == 0 && !link(mesh, 1).ended()) REQUIRE(wait_any(mesh, {{1, kCanRecv}}, -1, deadline));
  }
  return got;
}

}  // namespace

void test_streams_keep_order(const LinkKind& kind) {
  stream_both_ways(kind.meshes(2), std::size_t{4} << 20);
  stream_both_ways(kind.tight_meshes(2), kind.tight_bytes);
}

void test_no_wakeup_is_lost(const LinkKind& kind) {
  auto meshes = kind.meshes(2);
  Status other_outcome;
  std::thread other([&] { other_outcome = play(meshes[1], kind.pings); });
  const Status outcome = play(meshes[0], kind.pings);
  other.join();
  CHECK_MESSAGE(outcome.is_ok(), outcome.message());
  CHECK_MESSAGE(other_outcome.is_ok(), other_outcome.message());
}

void test_sleeping_sender_wakes(const LinkKind& kind) {
  auto meshes = kind.tight_meshes(2);
  const std::size_t stuck = fill(meshes[0], 1);
  std::thread reader([&] {
    std::vector<std::byte> block(1 << 16);
    for (std::size_t got = 0; got < stuck;) {
      if (!wait_any(meshes[1], {{0, kCanRecv}}, -1, Deadline::after(kPatience))) return;
      const auto moved = link(meshes[1], 0).recv_some(MutableBytes(block.data(), block.size()));
      if (!moved) return;
      got += moved.value();
    }
  });
  const auto woken = wait_any(meshes[0], {{1, kCanSend}}, -1, Deadline::after(kPatience));
  reader.join();
  REQUIRE(woken);
  CHECK(woken.value());
}

void test_end_wakes_a_waiter(const LinkKind& kind) {
  auto meshes = kind.meshes(2);
  std::size_t got = 1;
  double waited_ms = 0;
  Clock::time_point gone;
  std::thread waiter([&] {
    std::byte byte{};
    got = receive_all(meshes[0], &byte, 1);
    waited_ms = ms_since(gone);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // so that it mostly sleeps; right either way
  gone = Clock::now();
  meshes[1].links.clear();
  waiter.join();
  CHECK(got == 0);
  CHECK(link(meshes[0], 1).ended());
  CHECK(waited_ms < 2000);
  std::vector<pollfd> fds;
  CHECK_FALSE(link(meshes[0], 1).arm(kCanRecv, fds));
  CHECK(fds.empty());  // what has ended does not keep waking
}

void test_last_words_are_heard(const LinkKind& kind) {
  auto meshes = kind.meshes(2);
  const std::string last_words = "last words";
  REQUIRE(link(meshes[1], 0).send_some(Bytes(last_words.data(), last_words.size())).value() == 10);
  meshes[1].links.clear();
  std::string heard(11, '?');
  CHECK(receive_all(meshes[0], reinterpret_cast<std::byte*>(heard.data()), heard.size()) == 10);
  CHECK(heard == last_words + "?");
  const auto deadline = Deadline::after(kPatience);
  while (!deadline.passed()) {  // the end is known at once or after a while, as the transport has it
    const auto moved = link(meshes[0], 1).send_some(Bytes(heard.data(), 1));
    REQUIRE(moved);
    if (moved.value() == 0) break;
  }
  CHECK(link(meshes[0], 1).ended());
}

void test_words_overtake_stuck_data(const LinkKind& kind) {
  auto meshes = kind.tight_meshes(2);
  CHECK(fill(meshes[1], 0) > 0);
  const Status cause(Code::kMismatch, "rank 1 reduces, rank 0 gathers", 1, "node-b");
  meshes[1].lifelines[0]->send(encode_abort(1, cause));
  Status seen;
  for (const auto deadline = Deadline::after(kPatience); seen.is_ok() && !deadline.passed();) {
    std::vector<pollfd> fds;
    meshes[0].lifelines[1]->watch(fds);
    ::poll(fds.data(), fds.size(), deadline.poll_ms());
    seen = meshes[0].lifelines[1]->check();
  }
  CHECK(seen.code() == Code::kMismatch);
  CHECK(seen.message() == cause.message());
  CHECK(seen.rank() == 1);
  CHECK(seen.host() == "node-b");
}

void test_closed_link_refuses_work(const LinkKind& kind) {
  auto meshes = kind.meshes(2);
  link(meshes[0], 1).close();
  link(meshes[0], 1).close();
  std::byte byte{};
  CHECK(link(meshes[0], 1).send_some(Bytes(&byte, 1)).value() == 0);
  CHECK(link(meshes[0], 1).recv_some(MutableBytes(&byte, 1)).value() == 0);
  CHECK(link(meshes[0], 1).ended());
  CHECK_FALSE(wait_any(meshes[0], {{1, kCanRecv}}, -1, Deadline::after(0.01)).value());
}

void test_wait_ends_by_deadline_and_by_other_events(const LinkKind& kind) {
  auto meshes = kind.meshes(2);
  const auto start = Clock::now();
  const auto unmet = wait_any(meshes[0], {{1, kCanRecv}}, -1, Deadline::after(0.05));
  REQUIRE(unmet);
  CHECK_FALSE(unmet.value());
  CHECK(ms_since(start) >= 49);
  CHECK(wait_any(meshes[0], {{1, kCanSend}}, -1, Deadline::after(kPatience)).value());
  const UniqueFd event(::eventfd(0, EFD_CLOEXEC));
  const std::uint64_t one = 1;
  REQUIRE(::write(event.get(), &one, sizeof one) == sizeof one);
  CHECK(wait_any(meshes[0], {{1, kCanRecv}}, event.get(), Deadline::after(kPatience)).value());
}

void test_empty_moves(const LinkKind& kind) {
  auto meshes = kind.meshes(2);
  CHECK(link(meshes[0], 1).send_some(Bytes()).value() == 0);
  CHECK(link(meshes[0], 1).recv_some(MutableBytes()).value() == 0);
  CHECK(link(meshes[0], 1).peer() == 1);
  CHECK(link(meshes[1], 0).peer() == 0);
  CHECK_FALSE(link(meshes[0], 1).ended());
}

}  // namespace ring::testing
