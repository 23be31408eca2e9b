#include "ring/transport/address.h"

#include <sys/stat.h>  // for stat

#include <fstream>  // for ifstream

#include "ring/base/random.h"
#include "ring/base/wire.h"
#include "ring/transport/handshake/hello.h"
#include "ring/transport/tcp/socket.h"

namespace ring::transport {
namespace {

constexpr std::uint32_t kMagic = 0x41524b53;  // "SKRA"
constexpr std::uint8_t kVersion = 2;

Status bad(const std::string& why) {
  return {Code::kInvalidArgument, "not the address of a rank: " + why};
}

bool has_nul(const std::string& text) {
  return text.find('\0') != std::string::npos;
}

Status check_fields(const Address& address) {
  if (has_nul(address.ip) || has_nul(address.unix_name)) return bad("a zero byte in a name");
  if (address.ip.empty() != (address.port == 0)) return bad("a port without an address or the reverse");
  if (address.ip.empty() && address.unix_name.empty()) return bad("it has no listener");
  if (address.machine.empty()) return bad("it names no machine");
  if (!address.ip.empty()) return tcp::parse_endpoint(address.ip, address.port).status();
  return {};
}

}  // namespace

Result<Policy> parse_policy(std::string_view name) {
  if (name == "auto") return Policy::kAuto;
  if (name == "shm") return Policy::kShm;
  if (name == "tcp") return Policy::kTcp;
  return Status(Code::kInvalidArgument,
                "transport must be auto, shm or tcp, not '" + std::string(name) + "'");
}

std::string encode_address(const Address& address) {
  WireWriter writer;
  writer.u32(kMagic);
  writer.u8(kVersion);
  writer.u8(static_cast<std::uint8_t>(address.policy));
  writer.u16(address.port);
  writer.u8(address.tls ? 1 : 0);
  writer.u8(static_cast<std::uint8_t>(address.streams));
  writer.text(address.ip, kMaxIpText);
  writer.text(address.unix_name, kMaxUnixName);
  writer.text(address.machine, kMaxMachine);
  return writer.str();
}

Result<Address> parse_address(Bytes blob) {
  if (blob.size > kMaxAddressBytes) return bad("longer than " + std::to_string(kMaxAddressBytes) + " bytes");
  WireReader reader(blob);
  if (reader.u32() != kMagic) return bad("it begins with other bytes");
  const std::uint8_t version = reader.u8();
  if (version != kVersion) {
    return bad("version " + std::to_string(version) + ", this rank speaks " + std::to_string(kVersion));
  }
  Address address;
  const std::uint8_t policy = reader.u8();
  if (policy > static_cast<std::uint8_t>(Policy::kTcp)) return bad("unknown transport");
  address.policy = static_cast<Policy>(policy);
  address.port = reader.u16();
  const std::uint8_t tls = reader.u8();
  address.tls = tls == 1;
  address.streams = reader.u8();
  address.ip = reader.text(kMaxIpText);
  address.unix_name = reader.text(kMaxUnixName);
  address.machine = reader.text(kMaxMachine);
  if (!reader.at_end()) return bad("its length is wrong");
  if (tls > 1 || address.streams < 1 || address.streams > kMaxStreams) return bad("settings that cannot be");
  RING_TRY(check_fields(address));
  return address;
}

std::string this_machine() {
  std::string boot_id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot_id;
  struct stat network{};
  if (!boot_id.empty() && ::stat("/proc/self/ns/net", &network) == 0) {
    return boot_id + "/net:" + std::to_string(network.st_ino);
  }
  const auto name = random_name(16);
  return name ? "unknown-" + name.value() : "unknown-pid-" + std::to_string(::getpid());
}

}  // namespace ring::transport
