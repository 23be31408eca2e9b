// Dialer: everything that this rank does to reach one lower rank: the channels of the chosen path, the
// handover of a shared segment, and the fall back from shm to tcp. Thread-safety: none.
#pragma once

#include <poll.h>  // for pollfd

#include <cstdint>   // for uint64_t
#include <list>      // for list
#include <optional>  // for optional
#include <string>    // for string
#include <vector>    // for vector

#include "ring/base/status.h"
#include "ring/transport/choice.h"
#include "ring/transport/meeting/context.h"
#include "ring/transport/meeting/dial.h"
#include "ring/transport/meeting/gathering.h"

namespace ring::transport {

class Dialer {
 public:
  // `pairing` is drawn at random, so that the channels of two processes that claim one rank never mix.
  Dialer(const Context& context, int peer, Choice choice, std::uint64_t pairing);

  // Moves on and gives what is proven to the gathering. A failure ends the meeting.
  [[nodiscard]] Status advance(Gathering& gathering);
  void watch(std::vector<pollfd>& fds) const;

  [[nodiscard]] int peer() const noexcept { return peer_; }
  [[nodiscard]] std::string trouble() const;

 private:
  void begin();
  [[nodiscard]] Status take_unreachable(const std::string& why);
  [[nodiscard]] Status offer_segment(UniqueFd control);
  [[nodiscard]] Status take_answer(Gathering& gathering);

  const Context& context_;
  int peer_;
  Choice choice_;
  std::uint64_t pairing_;
  std::list<Dial> dials_;               // the channels that are not proven yet
  std::optional<ShmConnection> offer_;  // sent, not answered yet
};

}  // namespace ring::transport
