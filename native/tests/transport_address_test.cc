// Addresses: what is published is read back, everything else is refused. And the choice between two of them.
#include <doctest/doctest.h>

#include <random>  // for mt19937
#include <string>  // for string

#include "ring/transport/address.h"
#include "ring/transport/choice.h"

namespace {

using namespace ring::transport;
using ring::Bytes;
using ring::Code;

ring::Result<Address> parse(const std::string& blob) {
  return parse_address(Bytes(blob.data(), blob.size()));
}

Address on(const std::string& machine, Policy policy = Policy::kAuto) {
  Address address{policy, "", 0, "", machine};
  if (policy != Policy::kShm) {
    address.ip = "10.0.0.1";
    address.port = 4000;
  }
  if (policy != Policy::kTcp) address.unix_name = "name-" + machine;
  return address;
}

// Whether two ranks share memory; there must be a reason either way.
bool share(const Address& a, const Address& b) {
  const auto domains = domains_of({a, b});
  REQUIRE(domains);
  CHECK(domains_of({b, a}));
  CHECK_FALSE(reason_between(a, b).empty());
  return domains.value()[0] == domains.value()[1];
}

}  // namespace

TEST_CASE("addresses come back, IPv4 and IPv6") {
  for (const char* ip : {"127.0.0.1", "::1", "fe80::1", "2001:db8::42"}) {
    Address address = on("m");
    address.ip = ip;
    const auto back = parse(encode_address(address));
    REQUIRE_MESSAGE(back, back.status().message());
    CHECK(back.value().ip == ip);
    CHECK(back.value().port == 4000);
    CHECK(back.value().unix_name == "name-m");
    CHECK(back.value().machine == "m");
    CHECK(back.value().policy == Policy::kAuto);
  }
}

TEST_CASE("the longest address stays within the bound") {
  Address address = on(std::string(5000, 'm'));
  address.unix_name = std::string(5000, 'u');
  CHECK(encode_address(address).size() <= kMaxAddressBytes);
  CHECK(parse(encode_address(address)));
}

TEST_CASE("addresses that nobody could have published are refused") {
  Address name = on("m");
  name.ip = "localhost";
  Address no_port = on("m");
  no_port.port = 0;
  Address nothing{Policy::kAuto, "", 0, "", "m"};
  Address zero = on("m");
  zero.unix_name = std::string("a\0b", 3);
  for (const Address& bad : {name, no_port, nothing, zero, on("")}) {
    CHECK(parse(encode_address(bad)).status().code() == Code::kInvalidArgument);
  }
  CHECK_FALSE(parse(""));
  CHECK_FALSE(parse("127.0.0.1:80"));
  CHECK_FALSE(parse(std::string(2000, 'x')));
  std::string newer = encode_address(on("m"));
  newer[4] = 9;
  CHECK(parse(newer).status().message().find("version 9") != std::string::npos);
}

TEST_CASE("truncated, longer and mutated addresses never get past the parser unharmed or harm it") {
  const std::string blob = encode_address(on("machine"));
  for (std::size_t kept = 0; kept < blob.size(); ++kept) CHECK_FALSE(parse(blob.substr(0, kept)));
  CHECK_FALSE(parse(blob + "x"));
  std::mt19937 random(4);
  for (int round = 0; round < 20000; ++round) {
    std::string mutated = blob;
    for (unsigned i = 0; i <= random() % 3; ++i)
      mutated[random() % mutated.size()] = static_cast<char>(random());
    if (random() % 4 == 0) mutated.resize(random() % (2 * mutated.size()));
    const auto parsed = parse(mutated);
    if (parsed) CHECK(encode_address(parsed.value()) == mutated);
  }
}

TEST_CASE("ranks of one machine share memory, others do not, and wishes are heard") {
  CHECK(share(on("a"), on("a")));
  CHECK_FALSE(share(on("a"), on("b")));
  CHECK_FALSE(share(on("a", Policy::kTcp), on("a")));
  CHECK_FALSE(share(on("a", Policy::kTcp), on("a", Policy::kTcp)));
  CHECK(share(on("a", Policy::kShm), on("a")));
  Address without_unix = on("a");
  without_unix.unix_name.clear();
  CHECK_FALSE(share(on("a"), without_unix));
  CHECK_FALSE(share(without_unix, without_unix));
  CHECK_FALSE(share(on("rank 1"), on("a", Policy::kTcp)));  // no name of a machine is that of a rank
}

TEST_CASE("wishes that exclude each other are an error that says so, for all ranks alike") {
  const auto across = domains_of({on("b"), on("a", Policy::kShm), on("a", Policy::kShm)}).status();
  CHECK(across.code() == Code::kRendezvous);
  CHECK(across.message().find("'a' and 'b'") != std::string::npos);
  CHECK(across.rank() == 0);
  const auto mixed = domains_of({on("a", Policy::kTcp), on("a", Policy::kShm)}).status();
  CHECK(mixed.code() == Code::kRendezvous);
}

TEST_CASE("an address tells tls and streams, and ranks whose tls differs are refused all alike") {
  Address secure = on("a");
  secure.tls = true;
  secure.streams = 4;
  const std::string blob = encode_address(secure);
  CHECK(parse(blob).value().tls);
  CHECK(parse(blob).value().streams == 4);
  CHECK_FALSE(parse(encode_address(on("a"))).value().tls);
  for (const char streams : {'\0', '\x11'}) {
    std::string wrong = blob;
    wrong[9] = streams;
    CHECK_FALSE(parse(wrong));
  }
  const auto refused = domains_of({secure, secure, on("a"), secure}).status();
  CHECK(refused.code() == Code::kRendezvous);
  CHECK(refused.rank() == 2);
  CHECK(refused.message() == "comm.tls is off here and on on rank 0: set it to the same on all ranks");
  CHECK(domains_of({secure, secure}));
}

TEST_CASE("this machine has one name") {
  CHECK_FALSE(this_machine().empty());
  CHECK(this_machine().size() <= kMaxMachine);
  if (this_machine().rfind("unknown-", 0) != 0) CHECK(this_machine() == this_machine());
}

TEST_CASE("the names of the transports") {
  CHECK(parse_policy("auto").value() == Policy::kAuto);
  CHECK(parse_policy("shm").value() == Policy::kShm);
  CHECK(parse_policy("tcp").value() == Policy::kTcp);
  CHECK(parse_policy("TCP").status().code() == Code::kInvalidArgument);
}
