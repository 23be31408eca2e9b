// In a file of their own: inlined beside their callers the compiler takes them for a mismatched pair.
#include "allocations.h"

#include <cstdlib>  // for free, malloc
#include <new>      // for bad_alloc, nothrow_t

namespace {

thread_local std::size_t allocations = 0;

}  // namespace

std::size_t ring::testing::allocations_of_this_thread() noexcept {
  return allocations;
}

void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
// What libraries such as std::stable_sort ask for: it must match the operators below as well.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes > 0 ? bytes : 1);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
