#include "ring/transport/frames.h"

#include <algorithm>  // for min
#include <utility>    // for move
#include <vector>     // for vector

#include "ring/base/wire.h"

namespace ring::transport {
namespace {

constexpr std::size_t kLeftBytes = 1 + 4;
constexpr std::size_t kAbortHeader = 1 + 4;

// A code of another version of this library counts as a plain abort.
Code known_code(std::uint32_t number) {
  const bool known = number > static_cast<std::uint32_t>(Code::kOk) &&
                     number <= static_cast<std::uint32_t>(Code::kMissingLibrary);
  return known ? static_cast<Code>(number) : Code::kAborted;
}

std::optional<Frame> decode_abort(Bytes body) {
  WireReader reader(body);
  const auto origin = static_cast<std::int32_t>(reader.u32());
  const auto rank = static_cast<std::int32_t>(reader.u32());
  const Code code = known_code(reader.u32());
  std::string host = reader.text(kMaxAbortHost);
  std::string message = reader.text(kMaxAbortMessage);
  const std::size_t count = reader.u16();
  if (count > kMaxAbortMissing) return std::nullopt;
  std::vector<int> missing;
  for (std::size_t i = 0; i < count; ++i) missing.push_back(static_cast<std::int32_t>(reader.u32()));
  if (!reader.at_end()) return std::nullopt;
  const Status cause(code, std::move(message), rank, std::move(host));
  return Frame{FrameKind::kAbort, origin, cause.with_missing(std::move(missing))};
}

Status nonsense() {
  return {Code::kMismatch, "bytes that are no frame of this protocol"};
}

}  // namespace

std::string encode_word(FrameKind kind) {
  return std::string(1, static_cast<char>(kind));
}

std::string encode_left(int origin) {
  WireWriter frame;
  frame.u8(static_cast<std::uint8_t>(FrameKind::kLeft));
  frame.u32(static_cast<std::uint32_t>(origin));
  return frame.str();
}

std::string encode_abort(int origin, const Status& cause) {
  WireWriter body;
  body.u32(static_cast<std::uint32_t>(origin));
  body.u32(static_cast<std::uint32_t>(cause.rank()));
  body.u32(static_cast<std::uint32_t>(cause.code()));
  body.text(cause.host(), kMaxAbortHost);
  body.text(cause.report(), kMaxAbortMessage);
  const std::size_t count = std::min(cause.missing().size(), kMaxAbortMissing);
  body.u16(static_cast<std::uint16_t>(count));
  for (std::size_t i = 0; i < count; ++i) body.u32(static_cast<std::uint32_t>(cause.missing()[i]));
  WireWriter frame;
  frame.u8(static_cast<std::uint8_t>(FrameKind::kAbort));
  frame.u32(static_cast<std::uint32_t>(body.str().size()));
  return frame.str() + body.str();
}

void FrameReader::push(Bytes bytes) {
  buffer_.append(reinterpret_cast<const char*>(bytes.data), bytes.size);
}

Result<std::optional<Frame>> FrameReader::next() {
  const std::optional<Frame> none;
  if (buffer_.empty()) return none;
  std::optional<Frame> frame;
  std::size_t length = 1;
  const auto kind = static_cast<FrameKind>(buffer_.front());
  switch (kind) {
    case FrameKind::kBye:
    case FrameKind::kProcess:
    case FrameKind::kSegment:
    case FrameKind::kReady:
    case FrameKind::kGo:
      frame = Frame{kind};
      break;
    case FrameKind::kLeft: {
      length = kLeftBytes;
      if (buffer_.size() < length) return none;
      WireReader body(Bytes(buffer_.data() + 1, length - 1));
      frame = Frame{FrameKind::kLeft, static_cast<std::int32_t>(body.u32())};
      break;
    }
    case FrameKind::kAbort: {
      if (buffer_.size() < kAbortHeader) return none;
      WireReader header(Bytes(buffer_.data() + 1, kAbortHeader - 1));
      const std::size_t body = header.u32();
      if (body > kMaxAbortBody) return nonsense();
      length = kAbortHeader + body;
      if (buffer_.size() < length) return none;
      frame = decode_abort(Bytes(buffer_.data() + kAbortHeader, body));
      break;
    }
  }
  if (!frame) return nonsense();
  buffer_.erase(0, length);
  return frame;
}

}  // namespace ring::transport
