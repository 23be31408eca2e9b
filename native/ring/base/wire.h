// WireWriter, WireReader: little-endian fields of fixed and bounded length. Plain values, no thread safety.
#pragma once

#include <cstddef>      // for size_t
#include <cstdint>      // for uint64_t
#include <string>       // for string
#include <string_view>  // for string_view

#include "ring/base/bytes.h"

namespace ring {

class WireWriter {
 public:
  void u8(std::uint8_t value) { integer(value, 1); }
  void u16(std::uint16_t value) { integer(value, 2); }
  void u32(std::uint32_t value) { integer(value, 4); }
  void u64(std::uint64_t value) { integer(value, 8); }
  void raw(Bytes bytes) { text_.append(reinterpret_cast<const char*>(bytes.data), bytes.size); }
  // A length of two bytes, then at most `most` (below 64 KB) bytes of the text; the rest is cut off.
  void text(std::string_view value, std::size_t most) {
    const auto kept = value.substr(0, most);
    u16(static_cast<std::uint16_t>(kept.size()));
    text_.append(kept);
  }
  [[nodiscard]] const std::string& str() const noexcept { return text_; }

 private:
  void integer(std::uint64_t value, int width) {
    for (int i = 0; i < width; ++i) text_.push_back(static_cast<char>((value >> (8 * i)) & 0xff));
  }
  std::string text_;
};

// Reading past the end gives zeros and turns ok() false for good, so a parser asks once, at its end.
class WireReader {
 public:
  explicit WireReader(Bytes bytes) : left_(bytes) {}

  [[nodiscard]] std::uint8_t u8() { return static_cast<std::uint8_t>(integer(1)); }
  [[nodiscard]] std::uint16_t u16() { return static_cast<std::uint16_t>(integer(2)); }
  [[nodiscard]] std::uint32_t u32() { return static_cast<std::uint32_t>(integer(4)); }
  [[nodiscard]] std::uint64_t u64() { return integer(8); }
  [[nodiscard]] Bytes raw(std::size_t size) {
    if (size > left_.size) ok_ = false;
    if (!ok_) return {};
    const Bytes taken{left_.data, size};
    left_ = left_.from(size);
    return taken;
  }
  [[nodiscard]] std::string text(std::size_t most) {
    const std::size_t size = u16();
    if (size > most) ok_ = false;
    const Bytes taken = raw(size);
    return ok_ ? std::string(reinterpret_cast<const char*>(taken.data), taken.size) : std::string();
  }
  [[nodiscard]] bool ok() const noexcept { return ok_; }
  [[nodiscard]] bool at_end() const noexcept { return ok_ && left_.size == 0; }

 private:
  std::uint64_t integer(std::size_t width) {
    const Bytes taken = raw(width);
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < taken.size; ++i) {
      value |= std::to_integer<std::uint64_t>(taken.data[i]) << (8 * i);
    }
    return value;
  }
  Bytes left_;
  bool ok_ = true;
};

}  // namespace ring
