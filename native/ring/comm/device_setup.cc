#include "ring/comm/device_setup.h"

#include <unistd.h>  // for gethostname

#include <fstream>  // for ifstream
#include <utility>  // for move

namespace ring::comm {
namespace {

constexpr const char* kCardLabel = "cards of devices";
constexpr const char* kIdLabel = "id of NCCL";

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "this host";
}

// The kernel's boot id: ranks in containers of one machine see the same, and so do their devices' bus
// numbers.
std::string machine_name() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string text;
  return std::getline(file, text) ? text : host_name();
}

// What this rank has.
struct Own {
  DeviceCard card;
  nccl::DevicePtr device;
  std::shared_ptr<const nccl::Library> library;
};

Result<nccl::DevicePtr> open_device(const DeviceOptions& options) {
  auto driver = nccl::Driver::open(options.cuda_path);
  if (!driver) return driver.status();
  return nccl::Device::open(std::move(driver).value(), options.device);
}

Result<Own> look(const DeviceOptions& options) {
  Own own;
  auto mode = device_mode_from(options.mode);
  if (!mode) return mode.status();
  own.card.mode = mode.value();
  own.card.may_share = options.may_share;
  own.card.host = host_name();
  own.card.machine = machine_name();
  auto device = open_device(options);
  if (device) {
    own.device = std::move(device).value();
    own.card.pci = own.device->pci();
    own.card.device = own.device->describe();
  } else {
    own.card.no_device = device.status().message();
  }
  if (own.card.mode == DeviceMode::kStaged) return own;
  auto library = nccl::Library::open(options.nccl_path, options.nccl_folder);
  if (library) {
    own.library = std::move(library).value();
    own.card.nccl_version = own.library->version();
  } else {
    own.card.no_nccl = library.status().message();
  }
  return own;
}

Result<std::vector<DeviceCard>> exchange(Communicator& host, const DeviceCard& mine, double timeout_s,
                                         const Engine::Check* cancelled) {
  const auto size = static_cast<std::size_t>(host.size());
  const std::string sent = encode(mine);
  std::string all(size * kCardBytes, '\0');
  const auto* send = reinterpret_cast<const std::byte*>(sent.data());
  auto* recv = reinterpret_cast<std::byte*>(all.data());
  RING_TRY(host.run(
      allgather_of(send, recv, backend::Counts(size, kCardBytes), DType::kUint8, {timeout_s, kCardLabel}),
      cancelled));
  std::vector<DeviceCard> cards;
  for (std::size_t rank = 0; rank < size; ++rank) {
    auto card = decode_card(Bytes(all.data() + rank * kCardBytes, kCardBytes));
    if (!card) return card.status();
    cards.push_back(std::move(card).value());
  }
  return cards;
}

Result<std::unique_ptr<nccl::Group>> connect_nccl(Communicator& host, const nccl::Place& place,
                                                  double timeout_s, const Engine::Check* cancelled,
                                                  const nccl::Stop& stop) {
  nccl::UniqueId id{};
  if (host.rank() == 0) {
    auto made = nccl::Group::make_id(place);
    if (!made) return made.status();
    id = made.value();
  }
  RING_TRY(host.run(
      broadcast_of(reinterpret_cast<std::byte*>(&id), sizeof id, DType::kUint8, 0, {timeout_s, kIdLabel}),
      cancelled));
  return nccl::Group::connect(place, id, Deadline::after(timeout_s), stop);
}

}  // namespace

Result<DeviceSetup> set_up_device(Communicator& host, const DeviceOptions& options,
                                  const Engine::Check* cancelled, const nccl::Stop& stop) {
  auto own = look(options);
  if (!own) return own.status();
  auto cards = exchange(host, own.value().card, options.timeout_s, cancelled);
  if (!cards) return cards.status();
  auto verdict = decide(cards.value());
  if (!verdict) return verdict.status();
  DeviceSetup setup{own.value().device, nullptr, verdict.value().reason};
  if (!verdict.value().by_nccl) return setup;
  setup.reason = own.value().library->describe() + " on all ranks";
  const nccl::Site site{host.rank(), own.value().card.host, own.value().card.device};
  auto group = connect_nccl(host, {own.value().library, own.value().device, site, host.size()},
                            options.timeout_s, cancelled, stop);
  if (!group) {
    host.fail(group.status());  // the others wait for this rank
    return group.status();
  }
  setup.group = std::move(group).value();
  return setup;
}

}  // namespace ring::comm
