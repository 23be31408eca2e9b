// SHA-256 as in FIPS 180-4. A plain value, no thread safety of its own.
#pragma once

#include <array>    // for array
#include <cstddef>  // for byte, size_t
#include <cstdint>  // for uint32_t, uint64_t

#include "ring/base/bytes.h"

namespace ring {

using Digest = std::array<std::byte, 32>;

class Sha256 {
 public:
  static constexpr std::size_t kBlockBytes = 64;

  void update(Bytes bytes);
  // Ends the message; the object is spent.
  [[nodiscard]] Digest finish();

 private:
  void compress(const std::byte* block);
  // FIPS 180-4, 5.3.3: the fraction of the square roots of the first eight primes.
  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, kBlockBytes> block_{};
  std::size_t filled_ = 0;
  std::uint64_t total_ = 0;
};

[[nodiscard]] Digest sha256(Bytes bytes);

}  // namespace ring
