// Stream: one connected, non-blocking stream socket, plain or under TLS. Owner: a Link or a Lifeline.
// Thread-safety: none.
#pragma once

#include <sys/types.h>  // for ssize_t

#include <cstddef>  // for size_t
#include <memory>   // for unique_ptr
#include <string>   // for string
#include <utility>  // for move

#include "ring/base/bytes.h"
#include "ring/base/fork_guard.h"
#include "ring/base/unique_fd.h"
#include "ring/transport/flow.h"
#include "ring/transport/tls/session.h"

namespace ring::transport {

class Stream {
 public:
  Stream() = default;
  // Plain.
  Stream(UniqueFd socket) : socket_(std::move(socket)) {}  // implicit: a socket is a stream
  // After its TLS handshake; `session` works on `socket`.
  Stream(UniqueFd socket, std::unique_ptr<tls::Session> session)
      : socket_(std::move(socket)), session_(std::move(session)) {}

  [[nodiscard]] bool valid() const noexcept { return socket_.valid(); }
  [[nodiscard]] int fd() const noexcept { return socket_.get(); }

  // Move what fits now. What a blocked send was given must be given again, possibly with more behind it.
  [[nodiscard]] Step send_some(Bytes bytes);
  [[nodiscard]] Step recv_some(MutableBytes bytes);
  // The same; a descriptor that comes along, on a plain Unix socket, replaces `descriptor`.
  [[nodiscard]] Step recv_some(MutableBytes bytes, UniqueFd& descriptor);

  // False: something may wait inside, for which the socket would wake nobody; receive before sleeping.
  [[nodiscard]] bool drained() const noexcept { return session_ == nullptr || session_->drained(); }
  // After kBroken, for people.
  [[nodiscard]] std::string trouble() const;

  void reset() noexcept;

 private:
  [[nodiscard]] Step received(ssize_t got) noexcept;
  [[nodiscard]] Step failed(int error) noexcept;

  GuardedFd socket_;  // outlives the session
  std::unique_ptr<tls::Session> session_;
  int error_ = 0;
};

}  // namespace ring::transport
