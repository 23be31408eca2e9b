#include "ring/shm/memory.h"

#include <fcntl.h>         // for fallocate, fcntl, open, posix_fallocate
#include <sys/mman.h>      // for madvise, memfd_create, mmap
#include <sys/resource.h>  // for getrlimit
#include <sys/stat.h>      // for fstat
#include <unistd.h>        // for ftruncate, geteuid

#include <algorithm>  // for min
#include <cerrno>     // for errno
#include <fstream>    // for ifstream

#include "ring/shm/layout.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace ring::shm {
namespace {

constexpr std::uint64_t kStep = std::uint64_t{64} << 20;  // so that a signal repeats little

Status no_memory(const std::string& what, std::uint64_t bytes, int error) {
  return Status::system(
      "shared memory of " + std::to_string(bytes) +
          " bytes (the memory limit of this container and RLIMIT_FSIZE hold for it): " + what,
      error);
}

Status resize(int fd, std::uint64_t bytes, const char* kind) {
  // Beyond this limit the kernel would send SIGXFSZ.
  rlimit limit{};
  const bool limited = ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  if (limited && limit.rlim_cur < bytes) return no_memory(kind, bytes, EFBIG);
  if (::ftruncate(fd, static_cast<off_t>(bytes)) != 0) return no_memory(kind, bytes, errno);
  return {};
}

Result<UniqueFd> sealed_memfd(std::uint64_t bytes) {
  UniqueFd fd(::memfd_create("sparkdl-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return no_memory("memfd_create", bytes, errno);
  RING_TRY(resize(fd.get(), bytes, "a memfd"));
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return no_memory("sealing", bytes, errno);
  }
  return fd;
}

Result<UniqueFd> nameless_file(std::uint64_t bytes, const std::string& folder) {
  UniqueFd fd(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!fd.valid()) return no_memory("a file in " + folder, bytes, errno);
  RING_TRY(resize(fd.get(), bytes, "a file without a name"));
  return fd;
}

int fallocate_all(int fd, std::uint64_t offset, std::uint64_t bytes) {
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t step = std::min(kStep, bytes - done);
    const int error = ::posix_fallocate(fd, static_cast<off_t>(offset + done), static_cast<off_t>(step));
    if (error != 0 && error != EINTR) return error;
    if (error == 0) done += step;
  }
  return 0;
}

}  // namespace

Result<UniqueFd> create_memory(std::uint64_t bytes, const std::string& folder) {
  auto memfd = sealed_memfd(bytes);
  if (memfd || folder.empty()) return memfd;
  auto file = nameless_file(bytes, folder);
  if (!file) return file.status().because(memfd.status());
  return file;
}

Result<std::uint64_t> check_memory(int fd) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) return Status::system("shared memory: fstat", errno);
  const int seals = ::fcntl(fd, F_GET_SEALS);
  const bool sealed = seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
  // A file cannot be sealed; one without a name that is ours is trusted as far as our own processes are.
  const bool nameless = S_ISREG(info.st_mode) && info.st_nlink == 0 && info.st_uid == ::geteuid() &&
                        (seals < 0 || seals == F_SEAL_SEAL);
  if (!sealed && !nameless) {
    return Status(Code::kMismatch, "a shared memory segment that its owner could shrink");
  }
  return static_cast<std::uint64_t>(info.st_size);
}

Result<std::byte*> map_memory(int fd, std::uint64_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (memory == MAP_FAILED) return no_memory("mmap", bytes, errno);
  ::madvise(memory, bytes, MADV_DONTDUMP);
  return static_cast<std::byte*>(memory);
}

Status reserve(int fd, std::byte* base, std::uint64_t offset, std::uint64_t bytes, bool huge) {
  if (bytes == 0) return {};
  const std::uint64_t begin = offset / kPage * kPage;
  const std::uint64_t length = round_up(offset + bytes, kPage) - begin;
  // Huge pages are given at a fault through an advised mapping, never by fallocate.
  if (huge && begin % kHugePage == 0 && length >= kHugePage) {
    ::madvise(base + begin, length, MADV_HUGEPAGE);
    if (::madvise(base + begin, length, MADV_POPULATE_WRITE) == 0) return {};
  }
  if (const int error = fallocate_all(fd, begin, length); error != 0) {
    discard(fd, begin, length);
    return no_memory("fallocate", bytes, error);
  }
  populate(base + begin, length);
  return {};
}

void discard(int fd, std::uint64_t offset, std::uint64_t bytes) noexcept {
  if (bytes == 0) return;
  ::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
              static_cast<off_t>(bytes));
}

void populate(std::byte* memory, std::uint64_t bytes) noexcept {
  if (bytes > 0) ::madvise(memory, bytes, MADV_POPULATE_WRITE);
}

bool huge_pages_allowed() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
  std::string word;
  while (file >> word) {
    if (word == "[advise]" || word == "[always]" || word == "[within_size]" || word == "[force]") return true;
  }
  return false;
}

}  // namespace ring::shm
