#include "ring/transport/lifeline.h"

#include <sys/socket.h>  // for shutdown

#include <array>    // for array
#include <utility>  // for exchange, move

#include "ring/transport/uds/socket.h"

namespace ring::transport {
namespace {

// Of words that wait for a peer which does not read. Far above what one failure says; the rest is dropped.
constexpr std::size_t kMostWaiting = std::size_t{1} << 20;

bool is_readable(int fd) {
  pollfd entry{fd, POLLIN, 0};
  return ::poll(&entry, 1, 0) > 0;
}

}  // namespace

Status lost_rank(int rank, const std::string& host, const std::string& how) {
  const std::string where = host.empty() ? std::string() : " on host " + host;
  return {Code::kPeerLost, "rank " + std::to_string(rank) + where + " is lost: " + how, rank, host};
}

Status left_rank(int rank, const std::string& host) {
  return lost_rank(rank, host, "it closed its communicator while this rank still needs it");
}

Lifeline::Lifeline(Stream control, int peer, std::string host)
    : control_(std::move(control)), peer_(peer), host_(std::move(host)) {}

void Lifeline::watch(std::vector<pollfd>& fds) const {
  if (ended_) return;  // an ended socket is readable for ever
  const int events = POLLIN | (outbox_.empty() ? 0 : POLLOUT);
  if (control_.valid()) fds.push_back({control_.fd(), static_cast<short>(events), 0});
  if (process_.valid()) fds.push_back({process_.get(), POLLIN, 0});
}

Status Lifeline::check() {
  if (ended_) return failure_;
  flush();
  const bool heard = drain();
  // A wake-up without words may come from the pidfd. Who is gone may have spoken since the first look, so its
  // last words are heard before it is taken for lost.
  if (!heard && !ended_ && process_.valid() && is_readable(process_.get())) {
    (void)drain();
    take_end("its process has ended");
  }
  return failure_;
}

std::vector<Frame> Lifeline::take_frames() {
  return std::exchange(heard_, {});
}

void Lifeline::send(const std::string& frame) noexcept {
  if (!control_.valid() || ended_ || outbox_.size() > kMostWaiting) return;
  outbox_ += frame;
  flush();
}

Status Lifeline::send_with(FrameKind kind, int descriptor) {
  const std::string frame = encode_word(kind);
  return uds::send_parcel(control_.fd(), Bytes(frame.data(), frame.size()), {descriptor});
}

void Lifeline::close() noexcept {
  if (!control_.valid()) return;
  send(encode_word(FrameKind::kBye));
  // Closing a TCP socket with unread bytes in it resets it and may destroy our last words on their way.
  (void)drain();
  ::shutdown(control_.fd(), SHUT_WR);
  control_.reset();
  process_.reset();
}

bool Lifeline::drain() {
  std::array<char, 1024> piece;
  bool heard = false;
  while (!ended_ && control_.valid()) {
    const Step moved = control_.recv_some(MutableBytes(piece.data(), piece.size()), descriptor_);
    if (moved.flow == Flow::kBlocked) break;
    if (moved.flow != Flow::kMoved) {
      take_end(moved.flow == Flow::kEnded ? "its connection was closed" : control_.trouble());
      break;
    }
    heard = true;
    reader_.push(Bytes(piece.data(), moved.bytes));
    read_frames();
  }
  return heard;
}

void Lifeline::read_frames() {
  while (true) {
    auto next = reader_.next();
    if (!next) {
      take_loss("it sent " + next.status().message());
      ended_ = true;
      return;
    }
    if (!next.value()) return;
    take(*std::move(next).value());
  }
}

void Lifeline::take(Frame frame) {
  switch (frame.kind) {
    case FrameKind::kProcess:
      process_ = GuardedFd(std::move(descriptor_));
      return;
    case FrameKind::kSegment:
      segment_ = std::move(descriptor_);
      if (!segment_.valid()) take_loss("it gave memory without the memory");
      return;
    case FrameKind::kReady:
      is_ready_ = true;
      return;
    case FrameKind::kGo:
      may_go_ = true;
      return;
    case FrameKind::kAbort:
      if (frame.cause.rank() < 0) {  // who names nobody blames itself
        frame.cause = Status(frame.cause.code(), frame.cause.message(), peer_, host_)
                          .with_missing(frame.cause.missing());
      }
      if (failure_.is_ok()) failure_ = frame.cause;
      break;
    case FrameKind::kBye:
      left_ = true;
      break;
    case FrameKind::kLeft:
      break;
  }
  heard_.push_back(std::move(frame));
}

void Lifeline::take_end(std::string how) {
  ended_ = true;
  if (reader_.mid_frame()) how += " in the middle of its last words";
  if (!left_) take_loss(how);
}

void Lifeline::take_loss(const std::string& how) {
  if (lost_.is_ok()) lost_ = lost_rank(peer_, host_, how);
  if (failure_.is_ok()) failure_ = lost_;
}

void Lifeline::flush() noexcept {
  while (!outbox_.empty() && control_.valid()) {
    const Step moved = control_.send_some(Bytes(outbox_.data(), outbox_.size()));
    if (moved.flow == Flow::kBlocked) return;
    if (moved.flow == Flow::kMoved) {
      outbox_.erase(0, moved.bytes);
    } else {
      outbox_.clear();  // the connection is dead: reading it tells how
    }
  }
}

}  // namespace ring::transport
