#include "ring/base/hmac.h"

#include <cstring>  // for memcpy

namespace ring {
namespace {

using Block = std::array<std::byte, Sha256::kBlockBytes>;

Block key_block(Bytes key) {
  Block block{};
  if (key.size > block.size()) {
    const Digest digest = sha256(key);
    std::memcpy(block.data(), digest.data(), digest.size());
  } else if (key.size > 0) {
    std::memcpy(block.data(), key.data, key.size);
  }
  return block;
}

Sha256 begin_with(const Block& key, std::byte pad) {
  Block padded = key;
  for (std::byte& byte : padded) byte ^= pad;
  Sha256 hash;
  hash.update(Bytes(padded.data(), padded.size()));
  return hash;
}

}  // namespace

Digest hmac_sha256(Bytes key, std::initializer_list<Bytes> parts) {
  const Block block = key_block(key);
  Sha256 inner = begin_with(block, std::byte{0x36});
  for (const Bytes& part : parts) inner.update(part);
  const Digest digest = inner.finish();
  Sha256 outer = begin_with(block, std::byte{0x5c});
  outer.update(Bytes(digest.data(), digest.size()));
  return outer.finish();
}

bool equal_in_constant_time(Bytes a, Bytes b) {
  if (a.size != b.size) return false;
  volatile unsigned char difference = 0;  // volatile: or the compiler may leave the loop early
  for (std::size_t i = 0; i < a.size; ++i) {
    difference =
        static_cast<unsigned char>(difference | std::to_integer<unsigned char>(a.data[i] ^ b.data[i]));
  }
  return difference == 0;
}

}  // namespace ring
