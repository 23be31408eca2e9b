// Securing: the TLS handshake on a connection whose ends have proven themselves, or nothing where TLS is off.
// Thread-safety: none.
#pragma once

#include <poll.h>  // for pollfd

#include <memory>  // for unique_ptr
#include <string>  // for string
#include <vector>  // for vector

#include "ring/base/status.h"
#include "ring/base/unique_fd.h"
#include "ring/transport/stream.h"
#include "ring/transport/tls/session.h"

namespace ring::transport {

class Securing {
 public:
  using Progress = tls::Session::Progress;

  // Plain: it is done at once.
  explicit Securing(UniqueFd socket) : socket_(std::move(socket)) {}
  // `key` is of this connection alone. kMissingLibrary without OpenSSL.
  [[nodiscard]] static Result<Securing> begin(UniqueFd socket, tls::Side side, const Digest& key);

  [[nodiscard]] Progress advance() { return session_ ? session_->handshake() : Progress::kDone; }
  void watch(std::vector<pollfd>& fds) const {
    if (session_) fds.push_back({socket_.get(), session_->awaited(), 0});
  }
  // Why it failed, for people.
  [[nodiscard]] std::string trouble() const { return session_ ? session_->trouble() : std::string(); }
  // Once, after kDone.
  [[nodiscard]] Stream take() { return {std::move(socket_), std::move(session_)}; }

 private:
  UniqueFd socket_;
  std::unique_ptr<tls::Session> session_;
};

}  // namespace ring::transport
