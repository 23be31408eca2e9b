#include "ring/shm/adopt.h"

#include <sys/mman.h>  // for mmap, mremap, munmap
#include <sys/stat.h>  // for fstat

#include <algorithm>  // for none_of
#include <cerrno>     // for errno
#include <cstring>    // for memcpy
#include <fstream>    // for ifstream
#include <iterator>   // for prev
#include <map>        // for map
#include <mutex>      // for lock_guard, mutex
#include <sstream>    // for istringstream
#include <string>     // for string
#include <vector>     // for vector

namespace ring::shm {
namespace {

constexpr const char* kMemfdPath = "/memfd:sparkdl-ring";

struct Mapping {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::string rights;
  std::uint64_t offset = 0;
  std::uint64_t inode = 0;
  std::string path;
};

bool parse(const std::string& text, Mapping& mapping) {
  std::istringstream fields(text);
  char dash = 0;
  std::string device;
  fields >> std::hex >> mapping.begin >> dash >> mapping.end >> mapping.rights >> mapping.offset >> device >>
      std::dec >> mapping.inode;
  mapping.path.clear();
  fields >> mapping.path;
  return mapping.begin < mapping.end;
}

bool is_plain(const Mapping& mapping) {
  return mapping.rights.size() >= 4 && mapping.rights[0] == 'r' && mapping.rights[1] == 'w' &&
         mapping.rights[3] == 'p' && mapping.inode == 0 && mapping.path.rfind("[stack", 0) != 0;
}

// Pages that an earlier adoption has left beneath memory that lives on or was freed since: `begin - offset`
// is not where a whole segment is mapped.
bool is_left_over(const Mapping& mapping, const std::vector<Mapping>& segments) {
  if (mapping.rights != "rw-s" || mapping.path != kMemfdPath) return false;
  return std::none_of(segments.begin(), segments.end(), [&](const Mapping& segment) {
    return segment.inode == mapping.inode && segment.begin == mapping.begin - mapping.offset;
  });
}

// By process, as its address space is.
struct Claims {
  std::mutex mutex;
  std::map<std::uintptr_t, std::uintptr_t> end_of;  // by begin
};

Claims& claims() {
  static Claims& all = *new Claims;  // never deleted: claims may outlive any order of exit
  return all;
}

Status no_adoption(const std::string& why) {
  return {Code::kInvalidArgument, "this memory cannot be shared with other ranks: " + why};
}

}  // namespace

std::shared_ptr<const Claim> Claim::of(const std::byte* address, std::uint64_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t end = begin + bytes;
  const std::lock_guard lock(claims().mutex);
  auto& end_of = claims().end_of;
  const auto next = end_of.lower_bound(begin);
  if (next != end_of.end() && next->first < end) return nullptr;
  if (next != end_of.begin() && std::prev(next)->second > begin) return nullptr;
  std::shared_ptr<const Claim> claim(new Claim(begin));
  end_of.emplace(begin, end);
  return claim;
}

Claim::~Claim() {
  const std::lock_guard lock(claims().mutex);
  claims().end_of.erase(begin_);
}

Status check_adoptable(const std::byte* address, std::uint64_t bytes) {
  std::uint64_t at = reinterpret_cast<std::uintptr_t>(address);
  const std::uint64_t end = at + bytes;
  std::ifstream maps("/proc/self/maps");
  std::vector<Mapping> segments;
  Mapping mapping;
  for (std::string text; at < end && std::getline(maps, text);) {
    if (!parse(text, mapping)) continue;
    if (mapping.offset == 0 && mapping.path == kMemfdPath) segments.push_back(mapping);
    if (mapping.end <= at) continue;
    if (mapping.begin > at) break;
    if (!is_plain(mapping) && !is_left_over(mapping, segments)) {
      return no_adoption("it is mapped as " + mapping.rights + " " + mapping.path +
                         ", not as ordinary private memory");
    }
    at = mapping.end;
  }
  return at >= end ? Status::ok() : no_adoption("a part of it is not mapped");
}

Status put_beneath(int fd, std::uint64_t offset, std::byte* shared, std::byte* address, std::uint64_t bytes) {
  std::memcpy(shared, address, bytes);
  void* placed =
      ::mmap(address, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, static_cast<off_t>(offset));
  if (placed == MAP_FAILED) return Status::system("mapping shared pages beneath a buffer", errno);
  ::madvise(address, bytes, MADV_DONTDUMP);
  return {};
}

Status take_from_beneath(std::byte* address, std::uint64_t bytes) {
  void* copy = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy == MAP_FAILED) return Status::system("private pages for a buffer", errno);
  std::memcpy(copy, address, bytes);
  if (::mremap(copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, address) == MAP_FAILED) {
    const int error = errno;
    ::munmap(copy, bytes);
    return Status::system("private pages for a buffer", error);
  }
  return {};
}

bool is_mapped_from(const std::byte* address, std::uint64_t bytes, int fd, std::uint64_t offset) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) return false;
  const std::uint64_t begin = reinterpret_cast<std::uintptr_t>(address);
  std::uint64_t at = begin;
  std::ifstream maps("/proc/self/maps");
  Mapping mapping;
  for (std::string text; at < begin + bytes && std::getline(maps, text);) {
    if (!parse(text, mapping) || mapping.end <= at) continue;
    const bool ours = mapping.begin <= at && mapping.inode == info.st_ino && mapping.rights[3] == 's' &&
                      mapping.offset + (at - mapping.begin) == offset + (at - begin);
    if (!ours) return false;
    at = mapping.end;
  }
  return at >= begin + bytes;
}

bool is_backed_by(std::byte* address, std::byte* shared) noexcept {
  auto* here = reinterpret_cast<volatile unsigned char*>(address);
  auto* there = reinterpret_cast<volatile unsigned char*>(shared);
  const unsigned char before = *there;
  if (*here != before) return false;
  const auto other = static_cast<unsigned char>(~before);
  *there = other;
  const bool same = *here == other;
  *there = before;
  return same;
}

}  // namespace ring::shm
