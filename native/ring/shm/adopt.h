// Adoption: putting shared pages beneath memory that somebody else allocated, at the same addresses and with
// its contents, so that peers can reach it. Functions without state; the caller sees to it that nobody writes
// to that memory meanwhile.
//
// The memory stays usable and may be freed as before. Children forked from then on share it with their parent
// instead of getting a copy.
#pragma once

#include <cstddef>  // for byte
#include <cstdint>  // for uint64_t, uintptr_t
#include <memory>   // for shared_ptr

#include "ring/base/status.h"

namespace ring::shm {

// Memory that is shared in place, while it lives. No two of one process overlap: the later adoption would
// take the earlier one's pages away beneath it. Any thread.
class Claim {
 public:
  // Null when a part of the memory is claimed already.
  [[nodiscard]] static std::shared_ptr<const Claim> of(const std::byte* address, std::uint64_t bytes);

  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  ~Claim();

 private:
  explicit Claim(std::uintptr_t begin) : begin_(begin) {}

  std::uintptr_t begin_;
};

// Ok when [address, address + bytes) is ordinary private memory of this process. kInvalidArgument tells what
// it is instead.
[[nodiscard]] Status check_adoptable(const std::byte* address, std::uint64_t bytes);

// Copies `bytes` at `address` (whole pages) to `shared`, where `fd` is mapped from `offset` on, then maps the
// same pages over `address`. kSystem: nothing has changed.
[[nodiscard]] Status put_beneath(int fd, std::uint64_t offset, std::byte* shared, std::byte* address,
                                 std::uint64_t bytes);

// Gives [address, address + bytes) private pages with the same contents again. kSystem: it stays shared.
[[nodiscard]] Status take_from_beneath(std::byte* address, std::uint64_t bytes);

// Whether the kernel still has `fd` from `offset` on at [address, address + bytes). Safe for memory that is
// gone. Reads /proc: not for every use.
[[nodiscard]] bool is_mapped_from(const std::byte* address, std::uint64_t bytes, int fd,
                                  std::uint64_t offset);

// Whether the byte at `address` is the one at `shared`: whoever freed or remapped that memory told nobody.
// `address` must be mapped.
[[nodiscard]] bool is_backed_by(std::byte* address, std::byte* shared) noexcept;

}  // namespace ring::shm
