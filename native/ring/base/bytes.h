// Views of memory that somebody else owns.
#pragma once

#include <cstddef>  // for byte, size_t

namespace ring {

struct Bytes {
  const std::byte* data = nullptr;
  std::size_t size = 0;
  Bytes() = default;
  Bytes(const void* pointer, std::size_t length)
      : data(static_cast<const std::byte*>(pointer)), size(length) {}
  [[nodiscard]] Bytes from(std::size_t offset) const { return {data + offset, size - offset}; }
};

struct MutableBytes {
  std::byte* data = nullptr;
  std::size_t size = 0;
  MutableBytes() = default;
  MutableBytes(void* pointer, std::size_t length) : data(static_cast<std::byte*>(pointer)), size(length) {}
  [[nodiscard]] MutableBytes from(std::size_t offset) const { return {data + offset, size - offset}; }
};

}  // namespace ring
