#include "ring/transport/shm/segment.h"

#include <fcntl.h>     // for fallocate, F_ADD_SEALS
#include <sys/mman.h>  // for memfd_create, mmap
#include <sys/stat.h>  // for fstat

#include <cerrno>   // for errno
#include <string>   // for to_string
#include <utility>  // for move

namespace ring::transport::shm {
namespace {

Status no_memory(const char* call, int error, std::size_t bytes) {
  const std::string what = "shared memory of " + std::to_string(bytes) + " bytes";
  const std::string where = " (a memfd: the memory limit of this container and RLIMIT_FSIZE hold for it): ";
  return Status::system(what + where + call, error);
}

Status reserve(int fd, std::size_t bytes) {
  int error = 0;
  do {
    error = ::posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  } while (error == EINTR);
  if (error != 0) return no_memory("fallocate", error, bytes);
  return {};
}

Result<std::shared_ptr<void>> map(int fd, std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return no_memory("mmap", errno, bytes);
  return std::shared_ptr<void>(memory, [bytes](void* mapped) { ::munmap(mapped, bytes); });
}

Result<Segment> map_whole(UniqueFd fd, std::size_t ring_bytes) {
  auto mapping = map(fd.get(), pair_bytes(ring_bytes));
  if (!mapping) return mapping.status();
  Segment segment{std::move(fd), std::move(mapping).value(), {}};
  segment.rings = find_pair(static_cast<std::byte*>(segment.mapping.get()), ring_bytes);
  return segment;
}

}  // namespace

bool valid_ring_bytes(std::size_t ring_bytes) noexcept {
  return ring_bytes >= kMinRingBytes && ring_bytes <= kMaxRingBytes && (ring_bytes & (ring_bytes - 1)) == 0;
}

Result<Segment> create_segment(std::size_t ring_bytes) {
  if (!valid_ring_bytes(ring_bytes)) {
    return Status(Code::kInvalidArgument, "ring_bytes must be a power of two between 4 KB and 1 GB");
  }
  const std::size_t bytes = pair_bytes(ring_bytes);
  UniqueFd fd(::memfd_create("sparkdl-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return no_memory("memfd_create", errno, bytes);
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) return no_memory("ftruncate", errno, bytes);
  RING_TRY(reserve(fd.get(), bytes));
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return no_memory("sealing", errno, bytes);
  }
  auto segment = map_whole(std::move(fd), ring_bytes);
  if (segment) (void)build_pair(static_cast<std::byte*>(segment.value().mapping.get()), ring_bytes);
  return segment;
}

Result<Segment> map_segment(UniqueFd fd, std::size_t ring_bytes) {
  struct stat info{};
  if (!valid_ring_bytes(ring_bytes) || ::fstat(fd.get(), &info) != 0 ||
      static_cast<std::uint64_t>(info.st_size) != pair_bytes(ring_bytes)) {
    return Status(Code::kMismatch, "a shared memory segment of another size than was said");
  }
  const int seals = ::fcntl(fd.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    return Status(Code::kMismatch, "a shared memory segment that its owner could shrink");
  }
  return map_whole(std::move(fd), ring_bytes);
}

}  // namespace ring::transport::shm
