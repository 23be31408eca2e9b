#include "ring/transport/tcp/link.h"

#include <sys/socket.h>  // for recv, send

#include <cerrno>   // for errno
#include <cstring>  // for strerror
#include <utility>  // for move

namespace ring::transport::tcp {

TcpLink::TcpLink(Lifeline lifeline, UniqueFd data) : data_(std::move(data)), lifeline_(std::move(lifeline)) {}

Result<std::size_t> TcpLink::send_some(Bytes bytes) {
  RING_TRY(lifeline_.usable());
  if (data_ended_ || bytes.size == 0) return std::size_t{0};
  const ssize_t sent = ::send(data_.get(), bytes.data, bytes.size, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0) return take_data_error(errno);
  return static_cast<std::size_t>(sent);
}

Result<std::size_t> TcpLink::recv_some(MutableBytes bytes) {
  // Who left in order may have bytes under way, so `usable` waits for the end of the data.
  if (!lifeline_.left() || data_ended_) RING_TRY(lifeline_.usable());
  if (data_ended_ || bytes.size == 0) return std::size_t{0};
  const ssize_t got = ::recv(data_.get(), bytes.data, bytes.size, MSG_DONTWAIT);
  if (got < 0) return take_data_error(errno);
  if (got == 0) return take_data_end();
  return static_cast<std::size_t>(got);
}

bool TcpLink::arm(unsigned interest, std::vector<pollfd>& fds) {
  lifeline_.watch(fds);
  if (interest == kNone) return false;
  const bool may_drain = lifeline_.left() && !data_ended_ && (interest & kCanSend) == 0;
  if (!may_drain && !lifeline_.usable().is_ok()) return true;  // the next move tells why
  if (data_ended_) return false;
  const int events = ((interest & kCanRecv) != 0 ? POLLIN : 0) | ((interest & kCanSend) != 0 ? POLLOUT : 0);
  fds.push_back({data_.get(), static_cast<short>(events), 0});
  return false;
}

void TcpLink::close() noexcept {
  lifeline_.close();
  data_.reset();
  data_ended_ = true;
}

Result<std::size_t> TcpLink::take_data_error(int error) {
  if (error == EAGAIN || error == EWOULDBLOCK || error == EINTR) return std::size_t{0};
  if (error == EPIPE || error == ECONNRESET) return take_data_end();
  return lifeline_.fail(std::strerror(error));
}

Result<std::size_t> TcpLink::take_data_end() {
  data_ended_ = true;
  RING_TRY(lifeline_.check());
  RING_TRY(lifeline_.usable());
  return std::size_t{0};
}

}  // namespace ring::transport::tcp
