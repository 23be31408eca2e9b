// Which way the ranks' device collectives go, decided by all alike from what each says about itself. Pure.
#pragma once

#include <cstdint>  // for uint8_t
#include <string>   // for string
#include <vector>   // for vector

#include "ring/base/bytes.h"
#include "ring/base/status.h"

namespace ring::comm {

// What a setting asks for. Part of the card: append, never reorder.
enum class DeviceMode : std::uint8_t { kAuto = 0, kNccl = 1, kStaged = 2 };

// "auto", "nccl" or "staged".
[[nodiscard]] Result<DeviceMode> device_mode_from(const std::string& text);

// One rank's device and NCCL.
struct DeviceCard {
  std::string host;     // for people
  std::string machine;  // equal on ranks of one machine
  std::string pci;      // of the device there
  std::string device;   // for people
  DeviceMode mode = DeviceMode::kAuto;
  bool may_share = false;  // NCCL may be used by several ranks on one device
  int nccl_version = 0;    // 0: none
  std::string no_nccl;     // why there is none
  std::string no_device;   // why there is no device at all
};

inline constexpr std::size_t kCardBytes = 1024;
// Exactly kCardBytes; texts that are too long are cut.
[[nodiscard]] std::string encode(const DeviceCard& card);
[[nodiscard]] Result<DeviceCard> decode_card(Bytes bytes);

struct DeviceVerdict {
  bool by_nccl = false;
  std::string reason;  // why so, for logs
};

// Fails, on all ranks alike, where a rank has no device, or asks for NCCL that cannot be.
[[nodiscard]] Result<DeviceVerdict> decide(const std::vector<DeviceCard>& cards);

}  // namespace ring::comm
