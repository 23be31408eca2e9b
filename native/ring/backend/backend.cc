#include "ring/backend/backend.h"

#include <sys/mman.h>  // for mmap, munmap

#include <algorithm>  // for max
#include <cerrno>     // for errno

namespace ring::backend {

Result<Window> Backend::allocate(std::size_t bytes, const Call&) {
  const std::size_t length = std::max<std::size_t>(bytes, 1);
  void* memory = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return Status::system("memory of " + std::to_string(bytes) + " bytes", errno);
  std::shared_ptr<const void> keeps(memory, [length](void* mapped) { ::munmap(mapped, length); });
  return Window{static_cast<std::byte*>(memory), bytes, false, 0, std::move(keeps)};
}

Result<Window> Backend::adopt(std::byte*, std::size_t, const Call&) {
  return Status(Code::kInvalidArgument, "no rank of this group shares memory with another one");
}

void Backend::release(const Window&) {}

}  // namespace ring::backend
