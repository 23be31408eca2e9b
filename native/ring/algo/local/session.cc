#include "ring/algo/local/session.h"

#include <algorithm>  // for max, min
#include <array>      // for array
#include <cstring>    // for memcpy
#include <string>     // for string, to_string
#include <utility>    // for move

namespace ring::algo::local {
namespace {

// How long a rank that disagrees waits for the others' lines, to tell who is alone with what it calls.
constexpr double kCountingSeconds = 1;

std::string seconds_text(double seconds) {
  auto text = std::to_string(seconds);
  text.resize(text.find('.') + 3);
  return text;
}

}  // namespace

Session::Session(shm::LocalGroup group, std::vector<int> ranks, backend::Interrupt& interrupt,
                 backend::Meter& meter)
    : group_(std::move(group)),
      ranks_(std::move(ranks)),
      interrupt_(interrupt),
      meter_(meter),
      waiter_(group_, ranks_, interrupt),
      windows_(group_.index()),
      inputs_(static_cast<std::size_t>(group_.size())),
      shares_(group_.size()) {}

Session::~Session() = default;

void Session::announce(const backend::Call& call) {
  auto& line = group_.line(index(), next_);
  auto& page = group_.header(index(), next_);
  const Bytes header = call.what.header();
  page.size = std::min(header.size, shm::kHeaderBytes);
  std::memcpy(page.bytes, header.data, page.size);
  line.hash = call.what.hash();
  waiter_.expect(next_);
  waiter_.advance(line.sequence, next_);
  ++next_;
}

Status Session::gather(const backend::Call& call) {
  const std::uint64_t number = next_ - 1;
  const std::uint64_t hash = group_.line(index(), number).hash;
  for (int member = 0; member < size(); ++member) {
    if (member == index()) continue;
    const auto& line = group_.line(member, number);
    RING_TRY(await(member, line.sequence, number, call));
    if (line.hash != hash) return disagreement(member, call);
  }
  return {};
}

// Compares with the one that is alone, or where this rank is the one, with the first of the others.
Status Session::disagreement(int first, const backend::Call& call) {
  const std::uint64_t number = next_ - 1;
  const auto patience = Deadline::after(std::min(kCountingSeconds, call.timeout_s));
  const std::uint64_t hash = group_.line(index(), number).hash;
  int alike = 0;
  for (int member = 0; member < size(); ++member) {
    if (member == index()) continue;
    const auto& line = group_.line(member, number);
    const bool came = waiter_.until(member, line.sequence, number, patience) == shm::Wake::kReady;
    if (came && line.hash == hash) ++alike;
  }
  const bool alone = alike == 0 && size() > 2;
  const auto& page = group_.header(first, number);
  std::array<std::byte, shm::kHeaderBytes> theirs;
  const std::size_t bytes = std::min<std::uint64_t>(page.size, theirs.size());
  std::memcpy(theirs.data(), page.bytes, bytes);
  const Status status = call.what.compare(rank_of(first), Bytes(theirs.data(), bytes));
  if (!status && !alone) return status;
  const std::string text = status.is_ok() ? call.what.name() + ": ranks disagree" : status.message();
  return {Code::kMismatch, text, rank_of(alone ? index() : first), status.host()};
}

Status Session::close(const backend::Call& call) {
  const std::uint64_t number = next_ - 1;
  waiter_.advance(group_.progress(index()).closed, number);
  for (int member = 0; member < size(); ++member) {
    if (member != index()) RING_TRY(await(member, group_.progress(member).closed, number, call));
  }
  return {};
}

Status Session::take_numbers(std::uint64_t count, std::uint64_t& first) {
  first = next_piece_;
  next_piece_ += count;
  return group_.reserve_slots();
}

Status Session::room_for(std::uint64_t number, const backend::Call& call) {
  if (number < group_.num_slots()) return {};
  for (int member = 0; member < size(); ++member) {
    if (member != index()) RING_TRY(await_consumed(member, number - group_.num_slots(), call));
  }
  return {};
}

Status Session::failed(shm::Wake how, int member, const backend::Call& call) {
  const int rank = rank_of(index());
  const int lagging = rank_of(how == shm::Wake::kLeft ? waiter_.gone() : waiter_.laggard(member));
  waited_for_ = lagging;
  switch (how) {
    case shm::Wake::kInterrupted:
      return {Code::kAborted, call.what.name() + " was interrupted", rank};
    case shm::Wake::kLeft:
      return {
          Code::kPeerLost,
          "rank " + std::to_string(lagging) + ": it closed its communicator while this rank still needs it",
          lagging};
    default:
      break;
  }
  return {Code::kCollectiveTimeout,
          call.what.name() + ": rank " + std::to_string(rank) + " waited " + seconds_text(call.timeout_s) +
              " s for rank " + std::to_string(lagging) +
              " on the same host; it is stopped, stuck or runs other code",
          lagging};
}

}  // namespace ring::algo::local
