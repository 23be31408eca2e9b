#include "ring/transport/meeting/handover.h"

#include <sys/socket.h>  // for socketpair

#include <array>    // for array
#include <cerrno>   // for errno
#include <cstdint>  // for uint64_t
#include <string>   // for string
#include <utility>  // for move

#include "ring/base/wire.h"
#include "ring/transport/shm/socket.h"

namespace ring::transport {
namespace {

constexpr std::size_t kOfferBytes = 8;
constexpr std::byte kMapped{1};
constexpr std::byte kNotMapped{0};

Status answer(int socket, std::byte word) {
  const UniqueFd process = word == kMapped ? shm::own_process() : UniqueFd();
  std::vector<int> descriptors;
  if (process.valid()) descriptors.push_back(process.get());
  return shm::send_parcel(socket, Bytes(&word, 1), descriptors);
}

}  // namespace

Status send_offer(ShmConnection& connection, std::size_t ring_bytes) {
  WireWriter writer;
  writer.u64(ring_bytes);
  int bells[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, bells) != 0) {
    return Status::system("socketpair", errno);
  }
  connection.bell.reset(bells[0]);
  const UniqueFd theirs(bells[1]);
  const UniqueFd process = shm::own_process();
  std::vector<int> descriptors{connection.segment.fd.get(), theirs.get()};
  if (process.valid()) descriptors.push_back(process.get());
  return shm::send_parcel(connection.control.get(), Bytes(writer.str().data(), writer.str().size()),
                          descriptors);
}

Result<bool> receive_answer(ShmConnection& connection) {
  std::byte word{};
  auto parcel = shm::receive_parcel(connection.control.get(), MutableBytes(&word, 1));
  if (!parcel) return parcel.status();
  if (parcel.value().bytes == 0) return false;
  if (word != kMapped) return Status(Code::kSystem, "the peer cannot map the shared memory");
  auto& descriptors = parcel.value().descriptors;
  if (!descriptors.empty()) connection.process = std::move(descriptors.front());
  return true;
}

Result<bool> accept_offer(ShmConnection& connection) {
  std::array<std::byte, kOfferBytes> offer{};
  auto parcel = shm::receive_parcel(connection.control.get(), MutableBytes(offer.data(), offer.size()));
  if (!parcel) return parcel.status();
  if (parcel.value().bytes == 0) return false;
  auto& descriptors = parcel.value().descriptors;
  if (parcel.value().bytes != offer.size() || descriptors.size() < 2) {
    return Status(Code::kMismatch, "an offer of shared memory without the memory");
  }
  WireReader reader(Bytes(offer.data(), offer.size()));
  auto segment = shm::map_segment(std::move(descriptors[0]), static_cast<std::size_t>(reader.u64()));
  if (!segment) {
    (void)answer(connection.control.get(), kNotMapped);  // best effort: the closing that follows says it too
    return segment.status();
  }
  RING_TRY(answer(connection.control.get(), kMapped));
  connection.segment = std::move(segment).value();
  connection.segment.fd.reset();
  connection.bell = std::move(descriptors[1]);
  if (descriptors.size() > 2) connection.process = std::move(descriptors[2]);
  return true;
}

}  // namespace ring::transport
