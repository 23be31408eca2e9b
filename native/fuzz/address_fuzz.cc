// Any bytes as an address: refused in words, or read as what would be written again as the same bytes.
#include <cstdlib>  // for abort

#include "ring/transport/address.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace ring::transport;
  const auto address = parse_address({data, size});
  if (!address) {
    if (address.status().message().empty()) std::abort();
    return 0;
  }
  const std::string again = encode_address(address.value());
  if (again != std::string(reinterpret_cast<const char*>(data), size)) std::abort();
  return 0;
}
