// HalfLink: the data connections of one link, as they come in. Thread-safety: none.
#pragma once

#include <algorithm>  // for all_of
#include <memory>     // for make_unique, unique_ptr
#include <utility>    // for exchange, move
#include <vector>     // for vector

#include "ring/transport/stream.h"
#include "ring/transport/tcp/link.h"

namespace ring::transport {

class HalfLink {
 public:
  explicit HalfLink(int streams) : streams_(static_cast<std::size_t>(streams)) {}

  [[nodiscard]] bool expects(int stream) const noexcept {
    return stream >= 0 && static_cast<std::size_t>(stream) < streams_.size();
  }
  // Of one that is expected.
  [[nodiscard]] bool has(int stream) const noexcept {
    return streams_[static_cast<std::size_t>(stream)].valid();
  }
  void add(int stream, Stream connection) {
    streams_[static_cast<std::size_t>(stream)] = std::move(connection);
  }
  [[nodiscard]] bool is_whole() const {
    return std::all_of(streams_.begin(), streams_.end(), [](const Stream& s) { return s.valid(); });
  }
  [[nodiscard]] const std::vector<Stream>& streams() const noexcept { return streams_; }
  // Once, when it is whole.
  [[nodiscard]] std::unique_ptr<Link> take(int peer) {
    return std::make_unique<tcp::TcpLink>(peer,
                                          std::exchange(streams_, std::vector<Stream>(streams_.size())));
  }

 private:
  std::vector<Stream> streams_;
};

}  // namespace ring::transport
