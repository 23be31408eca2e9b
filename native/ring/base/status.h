// Status and Result: errors as values with a chain of causes. No thread safety of their own: plain values.
#pragma once

#include <memory>   // for shared_ptr
#include <string>   // for string
#include <utility>  // for move
#include <variant>  // for variant
#include <vector>   // for vector

namespace ring {

// One code for each class of sparkdl_ring.errors that native code can raise.
enum class Code : int {
  kOk = 0,
  kInvalidArgument,    // ConfigError
  kPeerLost,           // PeerLostError
  kCollectiveTimeout,  // CollectiveTimeoutError
  kMismatch,           // MismatchError
  kRendezvous,         // RendezvousError: refused, wrong run, wrong secret
  kRendezvousTimeout,  // RendezvousTimeoutError
  kAborted,            // CollectiveError: a rank gave up and said why
  kSystem,             // CollectiveError: an operating system call failed
  kInternal,           // CollectiveError: a bug of ours
  kMissingLibrary,     // MissingDependencyError
};

[[nodiscard]] const char* code_name(Code code) noexcept;

class [[nodiscard]] Status {
 public:
  Status() = default;  // success
  Status(Code code, std::string message, int rank = -1, std::string host = {});

  static Status ok() { return {}; }
  // Takes the text of errno `error` into the message.
  static Status system(const std::string& what, int error, int rank = -1);

  [[nodiscard]] bool is_ok() const noexcept { return state_ == nullptr; }
  [[nodiscard]] explicit operator bool() const noexcept { return is_ok(); }
  [[nodiscard]] Code code() const noexcept { return state_ ? state_->code : Code::kOk; }
  // The rank to blame, -1 where none is known.
  [[nodiscard]] int rank() const noexcept { return state_ ? state_->rank : -1; }
  [[nodiscard]] const std::string& host() const noexcept;
  [[nodiscard]] const std::string& message() const noexcept;
  // The message followed by those of its causes, outermost first.
  [[nodiscard]] std::string report() const;

  // This failure, seen from a caller that adds what it was doing.
  [[nodiscard]] Status because(Status cause) const;

  // The same failure with all the ranks that did not come, for kRendezvousTimeout.
  [[nodiscard]] Status with_missing(std::vector<int> ranks) const;
  [[nodiscard]] const std::vector<int>& missing() const noexcept;

 private:
  struct State {
    Code code;
    std::string message;
    int rank;
    std::string host;
    std::shared_ptr<const State> cause;
    std::vector<int> missing;
  };
  std::shared_ptr<const State> state_;
};

// A value or the status that tells why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::move(value)) {}         // NOLINT: implicit by design
  Result(Status status) : content_(std::move(status)) {}  // NOLINT: implicit by design

  [[nodiscard]] bool is_ok() const noexcept { return std::holds_alternative<T>(content_); }
  [[nodiscard]] explicit operator bool() const noexcept { return is_ok(); }
  [[nodiscard]] T& value() & { return std::get<T>(content_); }
  [[nodiscard]] const T& value() const& { return std::get<T>(content_); }
  [[nodiscard]] T&& value() && { return std::get<T>(std::move(content_)); }
  [[nodiscard]] Status status() const { return is_ok() ? Status{} : std::get<Status>(content_); }

 private:
  std::variant<T, Status> content_;
};

}  // namespace ring

// Returns early from a function whose result type takes a Status.
#define RING_TRY(expression)                                     \
  do {                                                           \
    if (auto ring_try_status = (expression); !ring_try_status) { \
      return ring_try_status;                                    \
    }                                                            \
  } while (false)
