// Dialer: everything that this rank does to reach one lower rank. Thread-safety: none.
#pragma once

#include <poll.h>  // for pollfd

#include <cstdint>  // for uint64_t
#include <list>     // for list
#include <string>   // for string
#include <vector>   // for vector

#include "ring/base/status.h"
#include "ring/transport/meeting/context.h"
#include "ring/transport/meeting/dial.h"
#include "ring/transport/meeting/guests.h"

namespace ring::transport {

class Dialer {
 public:
  // One connection for each channel. kSystem when there are no random numbers: all of one dialer carry one of
  // them, so that the channels of two processes that claim one rank never mix.
  [[nodiscard]] static Result<Dialer> to(const Context& context, int peer,
                                         const std::vector<Channel>& channels);

  // Moves on and gives what is proven to the guests. A failure ends the meeting.
  [[nodiscard]] Status advance(Guests& guests);
  void watch(std::vector<pollfd>& fds) const;

  [[nodiscard]] int peer() const noexcept { return peer_; }
  [[nodiscard]] std::string trouble() const;

 private:
  Dialer(const Context& context, int peer) : context_(&context), peer_(peer) {}
  [[nodiscard]] Status unreachable(const std::string& why) const;

  const Context* context_;
  int peer_;
  std::uint64_t pairing_ = 0;
  std::list<Dial> dials_;  // the channels that are not proven yet
};

}  // namespace ring::transport
