// Fields on the wire: what is written is read, what is cut short is noticed.
#include <doctest/doctest.h>

#include <string>  // for string

#include "ring/base/wire.h"

using ring::Bytes;
using ring::WireReader;
using ring::WireWriter;

namespace {

std::string sample() {
  WireWriter writer;
  writer.u8(0xab);
  writer.u16(0x1234);
  writer.u32(0xdeadbeef);
  writer.u64(0x0123456789abcdef);
  writer.text("hello", 8);
  return writer.str();
}

bool reads_whole(Bytes bytes) {
  WireReader reader(bytes);
  (void)reader.u8();
  (void)reader.u16();
  (void)reader.u32();
  (void)reader.u64();
  (void)reader.text(8);
  return reader.at_end();
}

}  // namespace

TEST_CASE("fields come back, little-endian") {
  const std::string wire = sample();
  CHECK(wire.substr(1, 2) == "\x34\x12");
  WireReader reader(Bytes(wire.data(), wire.size()));
  CHECK(reader.u8() == 0xab);
  CHECK(reader.u16() == 0x1234);
  CHECK(reader.u32() == 0xdeadbeef);
  CHECK(reader.u64() == 0x0123456789abcdef);
  CHECK(reader.text(8) == "hello");
  CHECK(reader.at_end());
}

TEST_CASE("every truncation and every surplus is noticed") {
  const std::string wire = sample();
  for (std::size_t kept = 0; kept < wire.size(); ++kept) CHECK_FALSE(reads_whole(Bytes(wire.data(), kept)));
  CHECK(reads_whole(Bytes(wire.data(), wire.size())));
  const std::string longer = wire + "x";
  CHECK_FALSE(reads_whole(Bytes(longer.data(), longer.size())));
}

TEST_CASE("a text longer than allowed is cut by the writer and refused by the reader") {
  WireWriter writer;
  writer.text("abcdef", 4);
  WireReader accepting(Bytes(writer.str().data(), writer.str().size()));
  CHECK(accepting.text(4) == "abcd");
  WireReader refusing(Bytes(writer.str().data(), writer.str().size()));
  CHECK(refusing.text(3).empty());
  CHECK_FALSE(refusing.ok());
  CHECK(refusing.u64() == 0);
}
