#include "ring/transport/meeting/dial.h"

#include <utility>  // for move

#include "ring/transport/tcp/socket.h"
#include "ring/transport/uds/socket.h"

namespace ring::transport {
namespace {

// A listener is open before its address is published, so refusals mean that it is gone or that its rank does
// not know us. A few more tries, because a loaded machine may drop a connection that it should have kept.
constexpr int kMaxRefusals = 5;
constexpr double kFirstPause_s = 0.05;

}  // namespace

Dial::Dial(const Context& context, Purpose purpose) : context_(context), purpose_(purpose) {}

Result<Dial::Progress> Dial::advance() {
  if (!securing_) {
    const auto greeted = greet();
    if (!greeted || greeted.value() != Progress::kProven) return greeted;
    RING_TRY(secure());
  }
  switch (securing_->advance()) {
    case Securing::Progress::kPending:
      return Progress::kPending;
    case Securing::Progress::kFailed:
      return refused(securing_->trouble());
    case Securing::Progress::kDone:
      break;
  }
  return Progress::kProven;
}

Result<Dial::Progress> Dial::greet() {
  if (!greeting_) {
    if (!pause_.passed()) return Progress::kPending;
    if (const Status started = start(); !started) return refused(started.message());
  }
  switch (greeting_->advance()) {
    case Greeting::Progress::kPending:
      return Progress::kPending;
    case Greeting::Progress::kClosed:
      return refused(greeting_->trouble());
    case Greeting::Progress::kUnproven:
      return refused("it does not hold the secret of this run");
    case Greeting::Progress::kProven:
      break;
  }
  const auto judgement =
      judge(context_.self, greeting_->peer(), purpose_.target, context_.host_of(purpose_.target));
  if (judgement.verdict != Judgement::Verdict::kWelcome) return judgement.disagreement;
  return Progress::kProven;
}

void Dial::watch(std::vector<pollfd>& fds) const {
  if (securing_) {
    securing_->watch(fds);
  } else if (greeting_) {
    greeting_->watch(fds);
  }
}

Status Dial::secure() {
  if (purpose_.channel == Channel::kUnixControl || !context_.self.tls) {
    securing_.emplace(greeting_->take_socket());
    return {};
  }
  auto begun = Securing::begin(greeting_->take_socket(), tls::Side::kConnector, greeting_->connection_key());
  if (!begun) return begun.status();
  securing_.emplace(std::move(begun).value());
  return {};
}

Status Dial::start() {
  auto socket = open_socket();
  if (!socket) return socket.status();
  auto talk = Conversation::connecting(context_.self, purpose_);
  if (!talk) return talk.status();
  greeting_.emplace(std::move(socket).value(), std::move(talk).value());
  return {};
}

Result<UniqueFd> Dial::open_socket() const {
  const Address& address = context_.addresses[static_cast<std::size_t>(purpose_.target)];
  if (purpose_.channel == Channel::kUnixControl) return uds::connect_abstract(address.unix_name);
  auto endpoint = tcp::parse_endpoint(address.ip, address.port);
  if (!endpoint) return endpoint.status();
  endpoint.value().add_scope(context_.scope);
  return tcp::start_connecting(endpoint.value(), context_.socket_buffer_bytes);
}

Dial::Progress Dial::refused(const std::string& why) {
  trouble_ = why;
  greeting_.reset();
  securing_.reset();
  pause_ = Deadline::after(kFirstPause_s * (1 << refusals_));
  ++refusals_;
  return refusals_ < kMaxRefusals ? Progress::kPending : Progress::kUnreachable;
}

}  // namespace ring::transport
