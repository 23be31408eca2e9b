// Doorman: accepts whoever connects, lets in the higher ranks that prove themselves, and shows the others out
// without keeping anybody waiting: every visitor has its own short time limit. Thread-safety: none.
#pragma once

#include <poll.h>  // for pollfd

#include <optional>  // for optional
#include <string>    // for string
#include <vector>    // for vector

#include "ring/base/deadline.h"
#include "ring/base/status.h"
#include "ring/transport/handshake/greeting.h"
#include "ring/transport/handshake/securing.h"
#include "ring/transport/meeting/context.h"
#include "ring/transport/meeting/guests.h"

namespace ring::transport {

// Visitors that were shown out, by reason.
struct Refusals {
  int silent = 0;     // did not finish the handshake in time
  int closed = 0;     // hung up during the handshake
  int unproven = 0;   // wrong secret, or bytes of another protocol
  int other_run = 0;  // the right secret, another run id or generation
  int duplicate = 0;  // a rank that is here already
  int surplus = 0;    // too many visitors at once

  [[nodiscard]] int total() const noexcept {
    return silent + closed + unproven + other_run + duplicate + surplus;
  }
  [[nodiscard]] std::string describe() const;  // empty when there were none
};

class Doorman {
 public:
  // Listeners are borrowed; -1 for one that there is not.
  Doorman(const Context& context, int tcp_listener, int unix_listener);

  // Moves on and gives who is proven to the guests. A failure ends the meeting: a proven peer disagrees.
  [[nodiscard]] Status advance(Guests& guests);
  void watch(std::vector<pollfd>& fds) const;
  [[nodiscard]] const Refusals& refusals() const noexcept { return refusals_; }

 private:
  struct Visitor {
    Greeting greeting;
    Deadline deadline;
    bool is_tcp;
    std::optional<Securing> securing;  // once it is welcome
  };
  enum class Fate { kStays, kLeaves };

  [[nodiscard]] Status accept_from(int listener, bool is_tcp);
  [[nodiscard]] Status let_in(UniqueFd socket, bool is_tcp);
  [[nodiscard]] Result<Fate> attend(Visitor& visitor, Guests& guests);
  [[nodiscard]] Result<Fate> welcome(Visitor& visitor, Guests& guests);
  [[nodiscard]] Status begin_securing(Visitor& visitor) const;
  // For those that are welcome, until the connection is ready.
  [[nodiscard]] Result<Fate> secure(Visitor& visitor, Guests& guests);

  const Context& context_;
  int tcp_listener_;
  int unix_listener_;
  std::vector<Visitor> visitors_;
  Refusals refusals_;
};

}  // namespace ring::transport
