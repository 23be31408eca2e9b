#include "ring/transport/stream.h"

#include <sys/socket.h>  // for recv, send

#include <cerrno>   // for errno
#include <cstring>  // for strerror

#include "ring/transport/uds/socket.h"

namespace ring::transport {

Step Stream::send_some(Bytes bytes) {
  if (session_ == nullptr) {
    const ssize_t sent = ::send(socket_.get(), bytes.data, bytes.size, MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent >= 0 ? Step{Flow::kMoved, static_cast<std::size_t>(sent)} : failed(errno);
  }
  std::size_t total = 0;
  while (total < bytes.size) {  // record by record
    const Step moved = session_->send_some(bytes.from(total));
    if (moved.flow != Flow::kMoved) return total > 0 ? Step{Flow::kMoved, total} : moved;
    total += moved.bytes;
  }
  return {Flow::kMoved, total};
}

Step Stream::recv_some(MutableBytes bytes) {
  if (session_ == nullptr) return received(::recv(socket_.get(), bytes.data, bytes.size, MSG_DONTWAIT));
  std::size_t total = 0;
  while (total < bytes.size) {
    const Step moved = session_->recv_some(bytes.from(total));
    // An end or a failure behind good bytes is found again by the next call.
    if (moved.flow != Flow::kMoved) return total > 0 ? Step{Flow::kMoved, total} : moved;
    total += moved.bytes;
  }
  return {Flow::kMoved, total};
}

Step Stream::recv_some(MutableBytes bytes, UniqueFd& descriptor) {
  if (session_ != nullptr) return recv_some(bytes);
  return received(uds::receive_with(socket_.get(), bytes, descriptor));
}

std::string Stream::trouble() const {
  if (error_ != 0) return std::strerror(error_);
  return session_ == nullptr ? std::string() : session_->trouble();
}

void Stream::reset() noexcept {
  session_.reset();
  socket_.reset();
}

Step Stream::received(ssize_t got) noexcept {
  if (got > 0) return {Flow::kMoved, static_cast<std::size_t>(got)};
  return got == 0 ? Step{Flow::kEnded, 0} : failed(errno);
}

Step Stream::failed(int error) noexcept {
  if (error == EAGAIN || error == EWOULDBLOCK || error == EINTR) return {Flow::kBlocked, 0};
  if (error == EPIPE || error == ECONNRESET) return {Flow::kEnded, 0};
  error_ = error;
  return {Flow::kBroken, 0};
}

}  // namespace ring::transport
