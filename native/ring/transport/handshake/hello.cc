#include "ring/transport/handshake/hello.h"

#include <cstring>  // for memcpy

#include "ring/base/wire.h"

namespace ring::transport {
namespace {

constexpr std::uint32_t kMagic = 0x48524b53;  // "SKRH"
// Of the byte of the channel: its kind, and which of the data connections it is.
constexpr int kFirstMask = 0x0f;
constexpr int kStreamShift = 4;
constexpr std::uint8_t kTlsBit = 0x80;  // of the byte of the role

Digest read_digest(WireReader& reader) {
  Digest digest{};
  const Bytes bytes = reader.raw(digest.size());
  if (bytes.size == digest.size()) std::memcpy(digest.data(), bytes.data, bytes.size);
  return digest;
}

bool known(Role role) {
  return role == Role::kConnector || role == Role::kAcceptor;
}

bool known(Channel channel) {
  const Channel first = first_of(channel);
  return first >= Channel::kTcpControl && first <= Channel::kMoreData;
}

}  // namespace

std::vector<Channel> data_channels(Channel first, int streams) {
  std::vector<Channel> channels;
  for (int stream = 0; stream < streams; ++stream) {
    channels.push_back(static_cast<Channel>(static_cast<int>(first) | stream << kStreamShift));
  }
  return channels;
}

Channel first_of(Channel channel) noexcept {
  const auto first = static_cast<Channel>(static_cast<int>(channel) & kFirstMask);
  const bool is_data = first == Channel::kTcpData || first == Channel::kMoreData;
  return is_data ? first : channel;
}

int stream_of(Channel channel) noexcept {
  const Channel first = first_of(channel);
  const bool is_data = first == Channel::kTcpData || first == Channel::kMoreData;
  return is_data ? static_cast<int>(channel) >> kStreamShift : -1;
}

std::string encode_hello(const Hello& hello) {
  WireWriter writer;
  writer.u32(kMagic);
  writer.u32(hello.version);
  writer.u8(static_cast<std::uint8_t>(static_cast<std::uint8_t>(hello.role) | (hello.tls ? kTlsBit : 0)));
  writer.u8(static_cast<std::uint8_t>(hello.channel));
  writer.u64(hello.generation);
  writer.u32(hello.size);
  writer.u32(hello.rank);
  writer.u32(hello.target);
  writer.u64(hello.pairing);
  writer.raw(Bytes(hello.run.data(), hello.run.size()));
  writer.raw(Bytes(hello.nonce.data(), hello.nonce.size()));
  return writer.str();
}

bool decode_hello(Bytes bytes, Hello& hello) {
  WireReader reader(bytes);
  const bool ours = reader.u32() == kMagic;
  hello.version = reader.u32();
  const std::uint8_t role = reader.u8();
  hello.role = static_cast<Role>(role & ~kTlsBit);
  hello.tls = (role & kTlsBit) != 0;
  hello.channel = static_cast<Channel>(reader.u8());
  hello.generation = reader.u64();
  hello.size = reader.u32();
  hello.rank = reader.u32();
  hello.target = reader.u32();
  hello.pairing = reader.u64();
  hello.run = read_digest(reader);
  hello.nonce = read_digest(reader);
  return reader.at_end() && ours && known(hello.role) && known(hello.channel);
}

}  // namespace ring::transport
