// Greeting: a Conversation over a non-blocking socket. Thread-safety: none.
#pragma once

#include <poll.h>  // for pollfd

#include <string>  // for string
#include <vector>  // for vector

#include "ring/base/unique_fd.h"
#include "ring/transport/handshake/conversation.h"

namespace ring::transport {

class Greeting {
 public:
  enum class Progress { kPending, kProven, kUnproven, kClosed };

  Greeting(UniqueFd socket, Conversation talk);

  // Moves what can be moved. Reads not one byte beyond the handshake.
  [[nodiscard]] Progress advance();
  // Once proven: sends what the peer still waits for. False when the peer is gone.
  [[nodiscard]] bool finish();

  void watch(std::vector<pollfd>& fds) const;
  [[nodiscard]] const Hello& peer() const noexcept { return talk_.peer(); }
  [[nodiscard]] bool heard() const noexcept { return talk_.heard(); }
  [[nodiscard]] Digest connection_key() const { return talk_.connection_key(); }
  // Why it was closed, for people.
  [[nodiscard]] const std::string& trouble() const noexcept { return trouble_; }
  [[nodiscard]] UniqueFd take_socket() noexcept { return std::move(socket_); }

 private:
  enum class Io { kDone, kBlocked, kClosed };
  Io send_pending();
  Io receive_wanted();

  UniqueFd socket_;
  Conversation talk_;
  std::string outbox_;
  std::string trouble_;
};

}  // namespace ring::transport
