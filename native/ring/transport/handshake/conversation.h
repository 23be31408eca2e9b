// Conversation: the mutual challenge on one new connection, as a pure machine: bytes in, bytes out.
// Thread-safety: none, plain value.
//
//   connector -> acceptor   hello C (fixed length, with a nonce)
//   acceptor -> connector   hello A (fixed length, with a nonce)
//   connector -> acceptor   HMAC-SHA256(secret, domain | role C | hello C | hello A)
//   acceptor -> connector   HMAC-SHA256(secret, domain | role A | hello C | hello A), only if C's proof held
//
// No field of a peer's hello is looked at before that peer's proof over both hellos holds.
#pragma once

#include <cstddef>  // for size_t
#include <cstdint>  // for uint64_t
#include <string>   // for string

#include "ring/base/bytes.h"
#include "ring/base/sha256.h"
#include "ring/base/status.h"
#include "ring/transport/handshake/hello.h"

namespace ring::transport {

// Who this rank is, and the key that proves it.
struct Identity {
  int rank = 0;
  int size = 1;
  std::uint64_t generation = 0;
  Digest run{};      // HMAC of the run id
  Digest secret{};   // 256 bits, of this run alone
  bool tls = false;  // on its TCP connections
};

// What a connector wants with its connection.
struct Purpose {
  int target = 0;
  Channel channel = Channel::kTcpControl;
  std::uint64_t pairing = 0;
};

class Conversation {
 public:
  enum class State { kTalking, kProven, kRefused };

  // Fails only when the system has no random bytes.
  [[nodiscard]] static Result<Conversation> connecting(const Identity& self, Purpose purpose);
  [[nodiscard]] static Result<Conversation> accepting(const Identity& self);

  // How many bytes it takes next; 0 when it is not talking any more. Never read more than that.
  [[nodiscard]] std::size_t wanted() const noexcept;
  // At most `wanted()` bytes of the peer.
  void take(Bytes bytes);
  // Bytes to send, handed out once.
  [[nodiscard]] std::string take_output();

  [[nodiscard]] State state() const noexcept { return state_; }
  // True once the peer has sent something: a silent one has not.
  [[nodiscard]] bool heard() const noexcept { return heard_; }
  // A key that both ends of this one connection come to and nobody else. Only when proven.
  [[nodiscard]] Digest connection_key() const;
  // What the peer says of itself. Only when proven.
  [[nodiscard]] const Hello& peer() const noexcept { return peer_; }

 private:
  Conversation(const Digest& secret, Hello own);
  void take_hello();
  void take_proof();
  [[nodiscard]] Digest proof_of(Role role) const;

  Digest secret_;
  Hello own_;
  Hello peer_;
  std::string own_hello_;
  std::string peer_hello_;
  std::string inbox_;
  std::string output_;
  State state_ = State::kTalking;
  bool heard_ = false;
};

// What a proven peer's claims mean for this rank.
struct Judgement {
  enum class Verdict { kWelcome, kOtherRun, kDisagrees } verdict;
  Status disagreement;  // kRendezvous, for kDisagrees and for kOtherRun
};
// `expected` is the rank that was dialled, or -1 for whoever connected. `host` is the peer's, for the
// message.
[[nodiscard]] Judgement judge(const Identity& self, const Hello& peer, int expected, const std::string& host);

}  // namespace ring::transport
