#include "ring/base/random.h"

#include <sys/random.h>  // for getrandom

#include <cerrno>  // for errno
#include <vector>  // for vector

namespace ring {

Status fill_random(MutableBytes bytes) {
  while (bytes.size > 0) {
    const ssize_t got = ::getrandom(bytes.data, bytes.size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Status::system("getrandom", errno);
    bytes = bytes.from(static_cast<std::size_t>(got));
  }
  return {};
}

Result<std::string> random_name(std::size_t bytes) {
  std::vector<std::byte> drawn(bytes);
  RING_TRY(fill_random(MutableBytes(drawn.data(), drawn.size())));
  std::string name;
  for (const std::byte byte : drawn) {
    name += "0123456789abcdef"[std::to_integer<unsigned>(byte >> 4)];
    name += "0123456789abcdef"[std::to_integer<unsigned>(byte & std::byte{15})];
  }
  return name;
}

}  // namespace ring
