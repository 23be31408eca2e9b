// The hash and the code against the vectors of FIPS 180-4 and RFC 4231.
#include <doctest/doctest.h>

#include <string>  // for string

#include "ring/base/hmac.h"
#include "ring/base/random.h"
#include "ring/base/sha256.h"

namespace {

using ring::Bytes;
using ring::Digest;

Bytes view(const std::string& text) {
  return {text.data(), text.size()};
}

std::string hex(const Digest& digest) {
  std::string text;
  for (const std::byte byte : digest) {
    text += "0123456789abcdef"[std::to_integer<unsigned>(byte) >> 4];
    text += "0123456789abcdef"[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
}

std::string hash(const std::string& text) {
  return hex(ring::sha256(view(text)));
}

std::string code(const std::string& key, const std::string& text) {
  return hex(ring::hmac_sha256(view(key), {view(text)}));
}

}  // namespace

TEST_CASE("SHA-256 of the FIPS 180-4 examples") {
  CHECK(hash("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(hash("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(
      hash("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsm"
           "nopqrstnopqrstu") == "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  CHECK(hash(std::string(1'000'000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("SHA-256 does not depend on how the message is cut") {
  const std::string text(300, 'x');
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    ring::Sha256 hash_in_pieces;
    hash_in_pieces.update(view(text.substr(0, cut)));
    hash_in_pieces.update(view(text.substr(cut)));
    REQUIRE(hex(hash_in_pieces.finish()) == hash(text));
  }
}

TEST_CASE("HMAC-SHA256 of the RFC 4231 examples") {
  CHECK(code(std::string(20, '\x0b'), "Hi There") ==
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  CHECK(code("Jefe", "what do ya want for nothing?") ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  CHECK(code(std::string(20, '\xaa'), std::string(50, '\xdd')) ==
        "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  std::string counting;
  for (char c = 1; c <= 25; ++c) counting += c;
  CHECK(code(counting, std::string(50, '\xcd')) ==
        "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
  CHECK(code(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First") ==
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  CHECK(code(std::string(131, '\xaa'),
             "This is a test using a larger than block-size key and a larger than block-size data. The key "
             "needs "
             "to be hashed before being used by the HMAC algorithm.") ==
        "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

TEST_CASE("HMAC of parts is the HMAC of the whole") {
  const std::string key = "key";
  CHECK(hex(ring::hmac_sha256(view(key), {view("ab"), view(""), view("c")})) == code(key, "abc"));
}

TEST_CASE("the comparison sees every byte and the length") {
  const std::string text(32, 'a');
  CHECK(ring::equal_in_constant_time(view(text), view(std::string(32, 'a'))));
  CHECK_FALSE(ring::equal_in_constant_time(view(text), view(std::string(31, 'a'))));
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string other = text;
    other[i] = 'b';
    CHECK_FALSE(ring::equal_in_constant_time(view(text), view(other)));
  }
}

TEST_CASE("random names differ and are hexadecimal") {
  const auto one = ring::random_name(16);
  const auto two = ring::random_name(16);
  REQUIRE(one);
  REQUIRE(two);
  CHECK(one.value().size() == 32);
  CHECK(one.value().find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(one.value() != two.value());
}
