#include "ring/base/status.h"

#include <cstring>  // for strerror_r

namespace ring {

const char* code_name(Code code) noexcept {
  switch (code) {
    case Code::kOk:
      return "ok";
    case Code::kInvalidArgument:
      return "invalid_argument";
    case Code::kPeerLost:
      return "peer_lost";
    case Code::kCollectiveTimeout:
      return "collective_timeout";
    case Code::kMismatch:
      return "mismatch";
    case Code::kRendezvous:
      return "rendezvous";
    case Code::kRendezvousTimeout:
      return "rendezvous_timeout";
    case Code::kAborted:
      return "aborted";
    case Code::kSystem:
      return "system";
    case Code::kInternal:
      return "internal";
    case Code::kMissingLibrary:
      return "missing_library";
  }
  return "unknown";
}

Status::Status(Code code, std::string message, int rank, std::string host)
    : state_(std::make_shared<const State>(
          State{code, std::move(message), rank, std::move(host), nullptr, {}})) {}

Status Status::system(const std::string& what, int error, int rank) {
  char buffer[128] = {};
  const char* text = ::strerror_r(error, buffer, sizeof buffer);  // the GNU form returns the text
  return {Code::kSystem, what + ": " + text, rank};
}

const std::string& Status::host() const noexcept {
  static const std::string empty;
  return state_ ? state_->host : empty;
}

const std::string& Status::message() const noexcept {
  static const std::string empty;
  return state_ ? state_->message : empty;
}

std::string Status::report() const {
  std::string text = message();
  for (auto cause = state_ ? state_->cause : nullptr; cause; cause = cause->cause) {
    text += "\n  because: " + cause->message;
  }
  return text;
}

Status Status::because(Status cause) const {
  if (!state_ || !cause.state_) return *this;
  State copy = *state_;
  copy.cause = cause.state_;
  Status result;
  result.state_ = std::make_shared<const State>(std::move(copy));
  return result;
}

Status Status::with_missing(std::vector<int> ranks) const {
  if (!state_) return *this;
  State copy = *state_;
  copy.missing = std::move(ranks);
  Status result;
  result.state_ = std::make_shared<const State>(std::move(copy));
  return result;
}

const std::vector<int>& Status::missing() const noexcept {
  static const std::vector<int> none;
  return state_ ? state_->missing : none;
}

}  // namespace ring
