#include "ring/transport/frames.h"

#include <utility>  // for move

#include "ring/base/wire.h"

namespace ring::transport {
namespace {

constexpr std::size_t kAbortHeader = 1 + 4;

std::string one_byte(FrameKind kind) {
  return std::string(1, static_cast<char>(kind));
}

// A code of another version of this library counts as a plain abort.
Code known_code(std::uint32_t number) {
  const bool known =
      number > static_cast<std::uint32_t>(Code::kOk) && number <= static_cast<std::uint32_t>(Code::kMissingLibrary);
  return known ? static_cast<Code>(number) : Code::kAborted;
}

std::optional<Status> decode_abort(Bytes body) {
  WireReader reader(body);
  const auto rank = static_cast<std::int32_t>(reader.u32());
  const Code code = known_code(reader.u32());
  std::string host = reader.text(kMaxAbortHost);
  std::string message = reader.text(kMaxAbortMessage);
  if (!reader.at_end()) return std::nullopt;
  return Status(code, std::move(message), rank, std::move(host));
}

Status nonsense() {
  return {Code::kMismatch, "bytes that are no frame of this protocol"};
}

}  // namespace

std::string encode_bell() {
  return one_byte(FrameKind::kBell);
}

std::string encode_bye() {
  return one_byte(FrameKind::kBye);
}

std::string encode_abort(const Status& cause) {
  WireWriter body;
  body.u32(static_cast<std::uint32_t>(cause.rank()));
  body.u32(static_cast<std::uint32_t>(cause.code()));
  body.text(cause.host(), kMaxAbortHost);
  body.text(cause.report(), kMaxAbortMessage);
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
  const auto kind = static_cast<FrameKind>(buffer_.front());
  if (kind == FrameKind::kBell || kind == FrameKind::kBye) {
    buffer_.erase(0, 1);
    return std::optional<Frame>(Frame{kind, {}});
  }
  if (kind != FrameKind::kAbort) return nonsense();
  if (buffer_.size() < kAbortHeader) return none;
  WireReader header(Bytes(buffer_.data() + 1, kAbortHeader - 1));
  const std::size_t length = header.u32();
  if (length > kMaxAbortBody) return nonsense();
  if (buffer_.size() < kAbortHeader + length) return none;
  auto cause = decode_abort(Bytes(buffer_.data() + kAbortHeader, length));
  if (!cause) return nonsense();
  buffer_.erase(0, kAbortHeader + length);
  return std::optional<Frame>(Frame{kind, *std::move(cause)});
}

}  // namespace ring::transport
