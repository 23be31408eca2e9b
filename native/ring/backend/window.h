// Window: memory that all ranks of a host can reach at each other, as its owner sees it. Plain value; the
// memory stays mapped as long as a copy of it lives, past the communicator too.
#pragma once

#include <cstddef>  // for byte, size_t
#include <cstdint>  // for uint32_t
#include <memory>   // for shared_ptr

namespace ring::backend {

struct Window {
  std::byte* address = nullptr;
  std::size_t bytes = 0;
  bool adopted = false;               // somebody else's memory, made reachable
  std::uint32_t number = 0;           // 0 in a group of one, where nobody needs to reach it
  std::shared_ptr<const void> keeps;  // what it lies in
};

}  // namespace ring::backend
