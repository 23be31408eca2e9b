// Scratch: memory that is kept between collectives, so that its pages are touched once. Grows only.
// Owner: the Wire; used by the executing thread only.
#pragma once

#include <cstddef>  // for byte, size_t
#include <memory>   // for unique_ptr

namespace ring::algo::wire {

class Scratch {
 public:
  // Contents are not kept when it grows.
  [[nodiscard]] std::byte* at_least(std::size_t bytes) {
    if (size_ < bytes) {
      memory_.reset();
      memory_.reset(new std::byte[bytes]);  // not cleared: nobody reads what he has not written
      size_ = bytes;
    }
    return memory_.get();
  }

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::size_t size_ = 0;
};

}  // namespace ring::algo::wire
