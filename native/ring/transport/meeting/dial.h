// Dial: one channel to one lower rank, tried until it is proven or the peer turns out unreachable.
// Thread-safety: none.
#pragma once

#include <poll.h>  // for pollfd

#include <optional>  // for optional
#include <string>    // for string
#include <vector>    // for vector

#include "ring/base/deadline.h"
#include "ring/base/status.h"
#include "ring/base/unique_fd.h"
#include "ring/transport/handshake/greeting.h"
#include "ring/transport/handshake/securing.h"
#include "ring/transport/meeting/context.h"

namespace ring::transport {

class Dial {
 public:
  enum class Progress { kPending, kProven, kUnreachable };

  Dial(const Context& context, Purpose purpose);

  // kRendezvous when the peer proved itself and disagrees with this rank.
  [[nodiscard]] Result<Progress> advance();
  void watch(std::vector<pollfd>& fds) const;

  [[nodiscard]] Channel channel() const noexcept { return purpose_.channel; }
  // What went wrong last, for people; empty while nothing did.
  [[nodiscard]] const std::string& trouble() const noexcept { return trouble_; }
  // Once, after kProven; under TLS where that is on and the connection is a TCP one.
  [[nodiscard]] Stream take_stream() { return securing_->take(); }

 private:
  [[nodiscard]] Status start();
  [[nodiscard]] Status secure();
  [[nodiscard]] Result<Progress> greet();
  [[nodiscard]] Result<UniqueFd> open_socket() const;
  [[nodiscard]] Progress refused(const std::string& why);

  const Context& context_;
  Purpose purpose_;
  std::optional<Greeting> greeting_;
  std::optional<Securing> securing_;     // after the greeting
  Deadline pause_ = Deadline::after(0);  // after a refusal
  int refusals_ = 0;
  std::string trouble_;
};

}  // namespace ring::transport
