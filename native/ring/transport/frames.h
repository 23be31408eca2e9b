// Frames of the control connection: bell, bye, abort. Pure: bytes in, bytes out, no sockets.
// Wire: one byte kind; `abort` adds a length of 4 bytes and a body of at most kMaxAbortBody bytes.
// Thread-safety: none, plain values.
#pragma once

#include <cstddef>   // for size_t
#include <cstdint>   // for uint8_t
#include <optional>  // for optional
#include <string>    // for string

#include "ring/base/bytes.h"
#include "ring/base/status.h"

namespace ring::transport {

enum class FrameKind : std::uint8_t {
  kBell = 1,   // look at the shared rings: what you waited for may be there
  kBye = 2,    // orderly end: the closing that follows is not a death
  kAbort = 3,  // this rank gives up, and why
};

inline constexpr std::size_t kMaxAbortMessage = 4096;
inline constexpr std::size_t kMaxAbortHost = 255;
inline constexpr std::size_t kMaxAbortBody = 4 + 4 + 2 + kMaxAbortHost + 2 + kMaxAbortMessage;

struct Frame {
  FrameKind kind;
  Status cause;  // of an abort
};

[[nodiscard]] std::string encode_bell();
[[nodiscard]] std::string encode_bye();
// Messages that are too long are cut.
[[nodiscard]] std::string encode_abort(const Status& cause);

// Puts frames together from pieces of any size.
class FrameReader {
 public:
  void push(Bytes bytes);
  // The next whole frame, none yet, or kMismatch when the bytes are no frame of ours (the stream is then
  // lost).
  [[nodiscard]] Result<std::optional<Frame>> next();
  // True while a frame has begun and not ended.
  [[nodiscard]] bool mid_frame() const noexcept { return !buffer_.empty(); }

 private:
  std::string buffer_;
};

}  // namespace ring::transport
