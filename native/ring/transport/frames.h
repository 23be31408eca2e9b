// Frames of the control connection. Pure: bytes in, bytes out, no sockets.
// Wire: one byte kind; `left` adds the rank (4 bytes), `abort` a length of 4 bytes and a body of at most
// kMaxAbortBody bytes; `process` and `segment` come with a descriptor on a Unix socket. Thread-safety: none,
// plain values.
#pragma once

#include <cstddef>   // for size_t
#include <cstdint>   // for uint8_t
#include <optional>  // for optional
#include <string>    // for string

#include "ring/base/bytes.h"
#include "ring/base/status.h"

namespace ring::transport {

enum class FrameKind : std::uint8_t {
  kBye = 1,      // orderly end: the closing that follows is not a death
  kLeft = 2,     // another rank said bye: passed on to those that it is not connected to
  kAbort = 3,    // a rank gives up, and why; passed on as well
  kProcess = 4,  // with the sender's pidfd
  kSegment = 5,  // with the memory of the host, from a rank to its children in the heap
  kReady = 6,    // all ranks below the sender in the tree of the meeting have met
  kGo = 7,       // all ranks have met
};

inline constexpr std::size_t kMaxAbortMessage = 4096;
inline constexpr std::size_t kMaxAbortHost = 255;
inline constexpr std::size_t kMaxAbortMissing = 256;
inline constexpr std::size_t kMaxAbortBody =
    4 + 4 + 4 + 2 + kMaxAbortHost + 2 + kMaxAbortMessage + 2 + 4 * kMaxAbortMissing;

struct Frame {
  FrameKind kind;
  int origin = -1;    // of an abort: whose view this is; of a left: who did; else -1
  Status cause = {};  // of an abort
};

[[nodiscard]] std::string encode_word(FrameKind kind);  // of the kinds that are one byte
[[nodiscard]] std::string encode_left(int origin);
// Messages and lists of missing ranks that are too long are cut.
[[nodiscard]] std::string encode_abort(int origin, const Status& cause);

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
