// Any bytes as what a peer says of its collective: words of bounded length.
#include <algorithm>  // for min
#include <cstdlib>    // for abort
#include <cstring>    // for memcpy

#include "ring/comm/fingerprint.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  constexpr std::size_t kMostWords = 1000;
  ring::comm::Header header;
  std::memcpy(&header, data, std::min(size, sizeof header));
  if (ring::comm::describe(header).size() > kMostWords) std::abort();
  return 0;
}
