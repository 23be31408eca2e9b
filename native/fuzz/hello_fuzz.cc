// Any bytes as a hello: refused, or read as what would be written again as the same bytes.
#include <cstdlib>  // for abort

#include "ring/transport/handshake/hello.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace ring::transport;
  std::string text(reinterpret_cast<const char*>(data), size);
  text.resize(kHelloBytes);
  Hello hello;
  if (decode_hello({text.data(), text.size()}, hello) && encode_hello(hello) != text) std::abort();
  return 0;
}
