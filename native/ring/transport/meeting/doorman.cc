#include "ring/transport/meeting/doorman.h"

#include <sys/socket.h>  // for accept4

#include <cerrno>   // for errno
#include <utility>  // for move

#include "ring/transport/tcp/socket.h"

namespace ring::transport {
namespace {

// Beside the connections that each rank may have under way.
constexpr std::size_t kMaxStrangers = 256;

bool is_of_the_connection(int error) {  // and not of the listener
  return error == ECONNABORTED || error == EPROTO || error == EPERM || error == EINTR;
}

void count(std::string& text, int number, const char* what) {
  if (number == 0) return;
  text += (text.empty() ? "" : ", ") + std::to_string(number) + " " + what;
}

}  // namespace

std::string Refusals::describe() const {
  std::string text;
  count(text, silent, "silent");
  count(text, closed, "hung up");
  count(text, unproven, "without the secret");
  count(text, other_run, "of another run");
  count(text, duplicate, "duplicate");
  count(text, surplus, "too many");
  return text;
}

Doorman::Doorman(const Context& context, int tcp_listener, int unix_listener)
    : context_(context), tcp_listener_(tcp_listener), unix_listener_(unix_listener) {}

Status Doorman::advance(Guests& guests) {
  RING_TRY(accept_from(tcp_listener_, true));
  RING_TRY(accept_from(unix_listener_, false));
  for (std::size_t i = 0; i < visitors_.size();) {
    const auto fate = attend(visitors_[i], guests);
    if (!fate) return fate.status();
    if (fate.value() == Fate::kLeaves) {
      visitors_.erase(visitors_.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  return {};
}

void Doorman::watch(std::vector<pollfd>& fds) const {
  if (tcp_listener_ >= 0) fds.push_back({tcp_listener_, POLLIN, 0});
  if (unix_listener_ >= 0) fds.push_back({unix_listener_, POLLIN, 0});
  for (const Visitor& visitor : visitors_) {
    if (visitor.securing) {
      visitor.securing->watch(fds);
    } else {
      visitor.greeting.watch(fds);
    }
  }
}

Status Doorman::accept_from(int listener, bool is_tcp) {
  // Bounded, so that a flood of strangers cannot keep this loop from attending to those inside.
  for (std::size_t i = 0; listener >= 0 && i < kMaxStrangers; ++i) {
    UniqueFd socket(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket.valid()) {
      RING_TRY(let_in(std::move(socket), is_tcp));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return {};
    } else if (!is_of_the_connection(errno)) {
      return Status::system("accept", errno, context_.self.rank);
    }
  }
  return {};
}

Status Doorman::let_in(UniqueFd socket, bool is_tcp) {
  const auto of_each_rank = static_cast<std::size_t>(context_.own_address().streams) + 2;
  if (visitors_.size() >= kMaxStrangers + of_each_rank * context_.addresses.size()) {
    visitors_.erase(visitors_.begin());  // the one that has been here longest
    ++refusals_.surplus;
  }
  if (is_tcp && !tcp::tune(socket.get(), context_.socket_buffer_bytes)) {
    ++refusals_.closed;  // setting options fails only on a connection that is gone
    return {};
  }
  auto talk = Conversation::accepting(context_.self);
  if (!talk) return talk.status();
  visitors_.push_back(Visitor{Greeting(std::move(socket), std::move(talk).value()),
                              Deadline::after(context_.stranger_timeout_s), is_tcp, std::nullopt});
  return {};
}

Result<Doorman::Fate> Doorman::attend(Visitor& visitor, Guests& guests) {
  if (visitor.securing) return secure(visitor, guests);
  switch (visitor.greeting.advance()) {
    case Greeting::Progress::kProven:
      return welcome(visitor, guests);
    case Greeting::Progress::kUnproven:
      ++refusals_.unproven;
      return Fate::kLeaves;
    case Greeting::Progress::kClosed:
      ++refusals_.closed;
      return Fate::kLeaves;
    case Greeting::Progress::kPending:
      break;
  }
  if (!visitor.deadline.passed()) return Fate::kStays;
  ++refusals_.silent;
  return Fate::kLeaves;
}

Result<Doorman::Fate> Doorman::welcome(Visitor& visitor, Guests& guests) {
  const Hello peer = visitor.greeting.peer();
  const int rank = static_cast<int>(peer.rank);
  const auto judgement = judge(context_.self, peer, -1, context_.host_of(rank));
  const bool welcome = judgement.verdict == Judgement::Verdict::kWelcome;
  if (welcome && guests.is_taken(rank, peer.channel, peer.pairing)) {
    ++refusals_.duplicate;
    return Fate::kLeaves;
  }
  const bool sent = visitor.greeting.finish();  // also to one who disagrees, so that it learns why
  if (judgement.verdict == Judgement::Verdict::kDisagrees) return judgement.disagreement;
  if (!welcome) {
    ++refusals_.other_run;
    return Fate::kLeaves;
  }
  if (!sent) {
    ++refusals_.closed;
    return Fate::kLeaves;
  }
  if (!guests.expects(rank, peer.channel) || visitor.is_tcp == (peer.channel == Channel::kUnixControl)) {
    return Status(Code::kRendezvous,
                  context_.name_of(rank) +
                      " connected to this rank in a way that it should not: the address "
                      "lists differ",
                  rank, context_.host_of(rank));
  }
  RING_TRY(begin_securing(visitor));
  return secure(visitor, guests);
}

Status Doorman::begin_securing(Visitor& visitor) const {
  if (!visitor.is_tcp || !context_.self.tls) {
    visitor.securing.emplace(visitor.greeting.take_socket());
    return {};
  }
  auto begun = Securing::begin(visitor.greeting.take_socket(), tls::Side::kAcceptor,
                               visitor.greeting.connection_key());
  if (!begun) return begun.status();
  visitor.securing.emplace(std::move(begun).value());
  return {};
}

Result<Doorman::Fate> Doorman::secure(Visitor& visitor, Guests& guests) {
  const auto progress = visitor.securing->advance();
  if (progress == Securing::Progress::kPending && !visitor.deadline.passed()) return Fate::kStays;
  if (progress != Securing::Progress::kDone) {
    ++(progress == Securing::Progress::kPending ? refusals_.silent : refusals_.unproven);
    return Fate::kLeaves;
  }
  const Hello& peer = visitor.greeting.peer();
  const int rank = static_cast<int>(peer.rank);
  if (guests.is_taken(rank, peer.channel, peer.pairing)) {  // by another one meanwhile
    ++refusals_.duplicate;
    return Fate::kLeaves;
  }
  guests.add(rank, {peer.channel, peer.pairing, visitor.securing->take()});
  return Fate::kLeaves;
}

}  // namespace ring::transport
