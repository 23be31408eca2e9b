#include "ring/transport/handshake/conversation.h"

#include <utility>  // for move

#include "ring/base/hmac.h"
#include "ring/base/protocol.h"
#include "ring/base/random.h"

namespace ring::transport {
namespace {

constexpr char kDomain[] = "sparkdl-ring handshake 1";  // its closing zero parts it from what follows
constexpr char kKeyDomain[] = "sparkdl-ring tls 1";
constexpr std::uint32_t kNobody = 0xffffffff;  // an acceptor does not know yet whom it talks to

Result<Hello> draw_hello(const Identity& self, Role role) {
  Hello hello;
  hello.version = kProtocolVersion;
  hello.role = role;
  hello.generation = self.generation;
  hello.tls = self.tls;
  hello.size = static_cast<std::uint32_t>(self.size);
  hello.rank = static_cast<std::uint32_t>(self.rank);
  hello.target = kNobody;
  hello.run = self.run;
  RING_TRY(fill_random(MutableBytes(hello.nonce.data(), hello.nonce.size())));
  return hello;
}

Role other(Role role) {
  return role == Role::kConnector ? Role::kAcceptor : Role::kConnector;
}

Bytes view(const std::string& text) {
  return {text.data(), text.size()};
}

std::string text_of(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace

Conversation::Conversation(const Digest& secret, Hello own)
    : secret_(secret), own_(own), own_hello_(encode_hello(own)) {}

Result<Conversation> Conversation::connecting(const Identity& self, Purpose purpose) {
  auto hello = draw_hello(self, Role::kConnector);
  if (!hello) return hello.status();
  hello.value().target = static_cast<std::uint32_t>(purpose.target);
  hello.value().channel = purpose.channel;
  hello.value().pairing = purpose.pairing;
  Conversation talk(self.secret, hello.value());
  talk.output_ = talk.own_hello_;
  return talk;
}

Result<Conversation> Conversation::accepting(const Identity& self) {
  const auto hello = draw_hello(self, Role::kAcceptor);
  if (!hello) return hello.status();
  return Conversation(self.secret, hello.value());
}

std::size_t Conversation::wanted() const noexcept {
  if (state_ != State::kTalking) return 0;
  return (peer_hello_.empty() ? kHelloBytes : sizeof(Digest)) - inbox_.size();
}

void Conversation::take(Bytes bytes) {
  if (bytes.size == 0 || state_ != State::kTalking) return;
  heard_ = true;
  inbox_.append(reinterpret_cast<const char*>(bytes.data), bytes.size);
  if (wanted() > 0) return;
  if (peer_hello_.empty()) {
    take_hello();
  } else {
    take_proof();
  }
}

std::string Conversation::take_output() {
  return std::exchange(output_, {});
}

void Conversation::take_hello() {
  peer_hello_ = std::exchange(inbox_, {});
  output_ += own_.role == Role::kAcceptor ? own_hello_ : text_of(proof_of(Role::kConnector));
}

void Conversation::take_proof() {
  const Role theirs = other(own_.role);
  const Digest expected = proof_of(theirs);
  const bool proven = equal_in_constant_time(view(inbox_), Bytes(expected.data(), expected.size()));
  if (!proven || !decode_hello(view(peer_hello_), peer_) || peer_.role != theirs) {
    state_ = State::kRefused;
    return;
  }
  if (own_.role == Role::kAcceptor) output_ += text_of(proof_of(Role::kAcceptor));
  state_ = State::kProven;
}

Digest Conversation::proof_of(Role role) const {
  const auto role_byte = static_cast<std::byte>(role);
  const bool connector = own_.role == Role::kConnector;
  const std::string& from_connector = connector ? own_hello_ : peer_hello_;
  const std::string& from_acceptor = connector ? peer_hello_ : own_hello_;
  return hmac_sha256(
      Bytes(secret_.data(), secret_.size()),
      {Bytes(kDomain, sizeof kDomain), Bytes(&role_byte, 1), view(from_connector), view(from_acceptor)});
}

Digest Conversation::connection_key() const {
  const bool connector = own_.role == Role::kConnector;
  const std::string& from_connector = connector ? own_hello_ : peer_hello_;
  const std::string& from_acceptor = connector ? peer_hello_ : own_hello_;
  return hmac_sha256(Bytes(secret_.data(), secret_.size()),
                     {Bytes(kKeyDomain, sizeof kKeyDomain), view(from_connector), view(from_acceptor)});
}

Judgement judge(const Identity& self, const Hello& peer, int expected, const std::string& host) {
  using Verdict = Judgement::Verdict;
  const auto rank = static_cast<std::int32_t>(peer.rank);
  const std::string who = "rank " + std::to_string(peer.rank) + (host.empty() ? "" : " on host " + host);
  const auto against = [&](Verdict verdict, const std::string& what) {
    return Judgement{verdict, Status(Code::kRendezvous, who + what, rank, host)};
  };
  if (peer.version != static_cast<std::uint32_t>(kProtocolVersion)) {
    return against(Verdict::kDisagrees, " speaks protocol " + std::to_string(peer.version) + ", this rank " +
                                            std::to_string(kProtocolVersion) +
                                            ": install one version everywhere");
  }
  if (peer.run != self.run) return against(Verdict::kOtherRun, " belongs to another run");
  if (peer.generation != self.generation) {
    return against(Verdict::kOtherRun, " is in generation " + std::to_string(peer.generation) +
                                           ", this rank in " + std::to_string(self.generation));
  }
  if (peer.size != static_cast<std::uint32_t>(self.size)) {
    return against(Verdict::kDisagrees,
                   " counts " + std::to_string(peer.size) + " ranks, this rank " + std::to_string(self.size));
  }
  if (peer.tls != self.tls) {
    const char* states = peer.tls ? " has comm.tls on, this rank off" : " has comm.tls off, this rank on";
    return against(Verdict::kDisagrees, std::string(states) + ": set it to the same on all ranks");
  }
  const bool dialled = expected >= 0;
  if (dialled && rank != expected) {
    return against(Verdict::kDisagrees, " answers at the address of rank " + std::to_string(expected));
  }
  if (!dialled &&
      (peer.target != static_cast<std::uint32_t>(self.rank) || rank <= self.rank || peer.rank >= peer.size)) {
    return against(Verdict::kDisagrees, " dialled rank " + std::to_string(peer.target) +
                                            " and reached rank " + std::to_string(self.rank) +
                                            ": the address lists differ");
  }
  return {Verdict::kWelcome, {}};
}

}  // namespace ring::transport
