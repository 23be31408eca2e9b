#include "ring/transport/handshake/greeting.h"

#include <sys/socket.h>  // for recv, send

#include <algorithm>  // for min
#include <array>      // for array
#include <cerrno>     // for errno
#include <cstring>    // for strerror
#include <utility>    // for move

namespace ring::transport {
namespace {

bool would_block(int error) {
  return error == EAGAIN || error == EWOULDBLOCK;
}

}  // namespace

Greeting::Greeting(UniqueFd socket, Conversation talk) : socket_(std::move(socket)), talk_(std::move(talk)) {}

Greeting::Progress Greeting::advance() {
  while (talk_.state() == Conversation::State::kTalking) {
    outbox_ += talk_.take_output();
    Io io = send_pending();
    if (io == Io::kDone) io = receive_wanted();
    if (io == Io::kBlocked) return Progress::kPending;
    if (io == Io::kClosed) return Progress::kClosed;
  }
  return talk_.state() == Conversation::State::kProven ? Progress::kProven : Progress::kUnproven;
}

bool Greeting::finish() {
  outbox_ += talk_.take_output();
  return send_pending() == Io::kDone;  // a few dozen bytes into an empty socket never block
}

void Greeting::watch(std::vector<pollfd>& fds) const {
  const int events = outbox_.empty() ? POLLIN : POLLOUT;
  fds.push_back({socket_.get(), static_cast<short>(events), 0});
}

Greeting::Io Greeting::send_pending() {
  while (!outbox_.empty()) {
    const ssize_t sent = ::send(socket_.get(), outbox_.data(), outbox_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      outbox_.erase(0, static_cast<std::size_t>(sent));
    } else if (would_block(errno)) {
      return Io::kBlocked;
    } else if (errno != EINTR) {
      trouble_ = std::strerror(errno);
      return Io::kClosed;
    }
  }
  return Io::kDone;
}

Greeting::Io Greeting::receive_wanted() {
  std::array<std::byte, kHelloBytes> piece;
  const std::size_t room = std::min(piece.size(), talk_.wanted());
  const ssize_t got = ::recv(socket_.get(), piece.data(), room, MSG_DONTWAIT);
  if (got > 0) {
    talk_.take(Bytes(piece.data(), static_cast<std::size_t>(got)));
    return Io::kDone;
  }
  if (got < 0 && errno == EINTR) return Io::kDone;
  if (got < 0 && would_block(errno)) return Io::kBlocked;
  trouble_ = got == 0 ? "it closed the connection during the handshake" : std::strerror(errno);
  return Io::kClosed;
}

}  // namespace ring::transport
