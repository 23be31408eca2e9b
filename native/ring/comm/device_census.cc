#include "ring/comm/device_census.h"

#include "ring/base/wire.h"
#include "ring/nccl/library.h"

namespace ring::comm {
namespace {

constexpr std::uint8_t kCardVersion = 1;
constexpr std::size_t kShortText = 64;
constexpr std::size_t kLongText = 300;
constexpr int kSharingVersion = nccl::version_code(2, 30);

std::string name_of(const std::vector<DeviceCard>& cards, std::size_t rank) {
  return "rank " + std::to_string(rank) + " on " + cards[rank].host;
}

// Why NCCL cannot be; empty when it can.
std::string obstacle(const std::vector<DeviceCard>& cards) {
  for (std::size_t rank = 0; rank < cards.size(); ++rank) {
    if (cards[rank].mode == DeviceMode::kStaged) return name_of(cards, rank) + " asks for comm.device=staged";
  }
  for (std::size_t rank = 0; rank < cards.size(); ++rank) {
    if (cards[rank].nccl_version == 0) return name_of(cards, rank) + ": " + cards[rank].no_nccl;
    if (cards[rank].nccl_version == cards[0].nccl_version) continue;
    return name_of(cards, rank) + " has NCCL " + nccl::version_text(cards[rank].nccl_version) + ", " +
           name_of(cards, 0) + " has " + nccl::version_text(cards[0].nccl_version) + ": install one version";
  }
  for (std::size_t one = 0; one < cards.size(); ++one) {
    for (std::size_t other = one + 1; other < cards.size(); ++other) {
      if (cards[one].machine != cards[other].machine || cards[one].pci != cards[other].pci) continue;
      const bool may = cards[one].may_share && cards[other].may_share;
      if (may && cards[one].nccl_version >= kSharingVersion) continue;
      return name_of(cards, one) + " and rank " + std::to_string(other) + " share one GPU, " +
             cards[one].pci +
             " (parts of a divided one count as one; NCCL 2.30 or newer may share it with "
             "NCCL_MULTI_RANK_GPU_ENABLE=1 on all ranks)";
    }
  }
  return {};
}

}  // namespace

Result<DeviceMode> device_mode_from(const std::string& text) {
  if (text == "auto") return DeviceMode::kAuto;
  if (text == "nccl") return DeviceMode::kNccl;
  if (text == "staged") return DeviceMode::kStaged;
  return Status(Code::kInvalidArgument, "comm.device is '" + text + "'; give auto, nccl or staged");
}

std::string encode(const DeviceCard& card) {
  WireWriter out;
  out.u8(kCardVersion);
  out.u8(static_cast<std::uint8_t>(card.mode));
  out.u8(card.may_share ? 1 : 0);
  out.u32(static_cast<std::uint32_t>(card.nccl_version));
  out.text(card.host, kShortText);
  out.text(card.machine, kShortText);
  out.text(card.pci, kShortText);
  out.text(card.device, kShortText);
  out.text(card.no_nccl, kLongText);
  out.text(card.no_device, kLongText);
  std::string bytes = out.str();
  bytes.resize(kCardBytes);
  return bytes;
}

Result<DeviceCard> decode_card(Bytes bytes) {
  WireReader in(bytes);
  DeviceCard card;
  if (in.u8() != kCardVersion) return Status(Code::kMismatch, "a rank's device card is of another version");
  card.mode = static_cast<DeviceMode>(in.u8());
  card.may_share = in.u8() != 0;
  card.nccl_version = static_cast<int>(in.u32());
  card.host = in.text(kShortText);
  card.machine = in.text(kShortText);
  card.pci = in.text(kShortText);
  card.device = in.text(kShortText);
  card.no_nccl = in.text(kLongText);
  card.no_device = in.text(kLongText);
  if (!in.ok()) return Status(Code::kInternal, "a rank's device card is cut short");
  return card;
}

Result<DeviceVerdict> decide(const std::vector<DeviceCard>& cards) {
  for (std::size_t rank = 0; rank < cards.size(); ++rank) {
    if (cards[rank].no_device.empty()) continue;
    return Status(Code::kInvalidArgument,
                  name_of(cards, rank) + " cannot use its device: " + cards[rank].no_device,
                  static_cast<int>(rank), cards[rank].host);
  }
  const std::string why = obstacle(cards);
  if (why.empty())
    return DeviceVerdict{true, "NCCL " + nccl::version_text(cards[0].nccl_version) + " on all ranks"};
  for (std::size_t rank = 0; rank < cards.size(); ++rank) {
    if (cards[rank].mode != DeviceMode::kNccl) continue;
    return Status(Code::kInvalidArgument,
                  name_of(cards, rank) + " asks for comm.device=nccl, which cannot be: " + why,
                  static_cast<int>(rank), cards[rank].host);
  }
  return DeviceVerdict{false, "staged through host memory: " + why};
}

}  // namespace ring::comm
