#include "ring/transport/tcp/link.h"

#include <sys/socket.h>  // for recv, send

#include <cerrno>   // for errno
#include <cstring>  // for strerror
#include <string>   // for to_string
#include <utility>  // for move

namespace ring::transport::tcp {

TcpLink::TcpLink(int peer, UniqueFd data) : peer_(peer), data_(std::move(data)) {}

Result<std::size_t> TcpLink::send_some(Bytes bytes) {
  if (out_ended_ || bytes.size == 0) return std::size_t{0};
  const ssize_t sent = ::send(data_.get(), bytes.data, bytes.size, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0) return take_error(errno, out_ended_);
  return static_cast<std::size_t>(sent);
}

Result<std::size_t> TcpLink::recv_some(MutableBytes bytes) {
  if (in_ended_ || bytes.size == 0) return std::size_t{0};
  const ssize_t got = ::recv(data_.get(), bytes.data, bytes.size, MSG_DONTWAIT);
  if (got < 0) return take_error(errno, in_ended_);
  in_ended_ = got == 0;
  return static_cast<std::size_t>(got);
}

bool TcpLink::arm(unsigned interest, std::vector<pollfd>& fds) {
  const bool recv = (interest & kCanRecv) != 0 && !in_ended_;
  const bool send = (interest & kCanSend) != 0 && !out_ended_;
  if (!recv && !send) return false;
  const int events = (recv ? POLLIN : 0) | (send ? POLLOUT : 0);
  fds.push_back({data_.get(), static_cast<short>(events), 0});
  return false;
}

void TcpLink::close() noexcept {
  data_.reset();
  in_ended_ = true;
  out_ended_ = true;
}

Result<std::size_t> TcpLink::take_error(int error, bool& ended) const {
  if (error == EAGAIN || error == EWOULDBLOCK || error == EINTR) return std::size_t{0};
  if (error == EPIPE || error == ECONNRESET) {
    ended = true;
    return std::size_t{0};
  }
  const std::string who = "rank " + std::to_string(peer_);
  return Status(Code::kPeerLost, who + " is lost: its data connection failed: " + std::strerror(error),
                peer_);
}

}  // namespace ring::transport::tcp
