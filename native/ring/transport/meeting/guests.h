// Guests: what the doorman lets people in to: a meeting, or the opening of more links. Thread-safety: none.
#pragma once

#include <cstdint>  // for uint64_t

#include "ring/transport/handshake/hello.h"
#include "ring/transport/stream.h"

namespace ring::transport {

// One proven connection.
struct Proven {
  Channel channel = Channel::kTcpControl;
  std::uint64_t pairing = 0;
  Stream stream;
};

class Guests {
 public:
  Guests() = default;
  Guests(const Guests&) = delete;
  Guests& operator=(const Guests&) = delete;
  virtual ~Guests() = default;

  // Whether this rank and `peer` are connected by such a channel at all.
  [[nodiscard]] virtual bool expects(int peer, Channel channel) const = 0;
  // True when the peer has this channel, or when another process began to connect as this peer.
  [[nodiscard]] virtual bool is_taken(int peer, Channel channel, std::uint64_t pairing) const = 0;
  virtual void add(int peer, Proven connection) = 0;
};

}  // namespace ring::transport
