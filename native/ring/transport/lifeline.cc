#include "ring/transport/lifeline.h"

#include <sys/socket.h>  // for recv, send, shutdown

#include <array>    // for array
#include <cerrno>   // for errno
#include <cstring>  // for strerror
#include <utility>  // for move

namespace ring::transport {
namespace {

bool is_readable(int fd) {
  pollfd entry{fd, POLLIN, 0};
  return ::poll(&entry, 1, 0) > 0;
}

}  // namespace

Lifeline::Lifeline(UniqueFd control, int peer, std::string host, UniqueFd process)
    : control_(std::move(control)), process_(std::move(process)), peer_(peer), host_(std::move(host)) {}

void Lifeline::watch(std::vector<pollfd>& fds) const {
  if (ended_) return;  // an ended socket is readable for ever
  if (control_.valid()) fds.push_back({control_.get(), POLLIN, 0});
  if (process_.valid()) fds.push_back({process_.get(), POLLIN, 0});
}

Status Lifeline::check() {
  if (ended_ || !failure_.is_ok()) return failure_;
  const bool heard = drain();
  // A wake-up without words may come from the pidfd. Who is gone may have spoken since the first look, so its
  // last words are heard before it is taken for lost.
  if (!heard && !ended_ && process_.valid() && is_readable(process_.get())) {
    (void)drain();
    take_end("its process has ended");
  }
  return failure_;
}

Status Lifeline::usable() const {
  if (!failure_.is_ok()) return failure_;
  if (left_) return lost("it closed its communicator while this rank still needs it");
  if (!control_.valid()) return {Code::kAborted, "this rank has closed the link", peer_, host_};
  return {};
}

Status Lifeline::fail(const std::string& what) {
  take_failure(what);
  return failure_;
}

void Lifeline::ring_bell() noexcept {
  send(encode_bell());
}

void Lifeline::send_abort(const Status& cause) noexcept {
  send(encode_abort(cause));
}

void Lifeline::close() noexcept {
  if (!control_.valid()) return;
  send(encode_bye());
  // Closing a TCP socket with unread bytes in it resets it and may destroy our last words on their way.
  if (failure_.is_ok()) (void)drain();
  ::shutdown(control_.get(), SHUT_WR);
  control_.reset();
  process_.reset();
}

bool Lifeline::drain() {
  std::array<char, 1024> piece;
  bool heard = false;
  while (!ended_ && control_.valid()) {
    const ssize_t got = ::recv(control_.get(), piece.data(), piece.size(), MSG_DONTWAIT);
    if (got > 0) {
      heard = true;
      frames_.push(Bytes(piece.data(), static_cast<std::size_t>(got)));
      take_frames();
    } else if (got == 0) {
      take_end("its connection was closed");
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      break;
    } else if (errno != EINTR) {
      take_end(std::strerror(errno));
    }
  }
  return heard;
}

void Lifeline::take_frames() {
  while (true) {
    auto next = frames_.next();
    if (!next) {
      take_failure("it sent " + next.status().message());
      ended_ = true;
      return;
    }
    if (!next.value()) return;
    const Frame& frame = *next.value();
    if (frame.kind == FrameKind::kBye) left_ = true;
    if (frame.kind != FrameKind::kAbort || !failure_.is_ok()) continue;
    const bool names_nobody = frame.cause.rank() < 0;
    failure_ = names_nobody ? Status(frame.cause.code(), frame.cause.message(), peer_, host_) : frame.cause;
  }
}

void Lifeline::take_end(std::string how) {
  ended_ = true;
  if (frames_.mid_frame()) how += " in the middle of its last words";
  if (!left_) take_failure(how);
}

void Lifeline::take_failure(const std::string& how) {
  if (failure_.is_ok()) failure_ = lost(how);
}

Status Lifeline::lost(const std::string& how) const {
  const std::string where = host_.empty() ? std::string() : " on host " + host_;
  return {Code::kPeerLost, "rank " + std::to_string(peer_) + where + " is lost: " + how, peer_, host_};
}

void Lifeline::send(const std::string& frame) noexcept {
  if (!control_.valid()) return;
  ssize_t sent = 0;
  do {
    sent = ::send(control_.get(), frame.data(), frame.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  // A full or dead socket is no error here: its reader has enough to wake it, or check() finds the death.
}

}  // namespace ring::transport
