// TcpLink: the data of one peer, on one or several sockets. Several carry stripes of a fixed size in turn, so
// that the bytes keep their order. An end of a stream only stops the watching of it: the farewell or abort
// that explains it comes through the lifeline. Owner: the Mesh. Thread-safety: as Link.
#pragma once

#include <cstddef>  // for size_t
#include <vector>   // for vector

#include "ring/transport/link.h"
#include "ring/transport/stream.h"

namespace ring::transport::tcp {

class TcpLink final : public Link {
 public:
  // At least one stream; both ends have as many, in one order.
  TcpLink(int peer, std::vector<Stream> streams);
  ~TcpLink() override = default;

  [[nodiscard]] int peer() const noexcept override { return peer_; }
  [[nodiscard]] std::string_view transport() const noexcept override { return "tcp"; }
  [[nodiscard]] Result<std::size_t> send_some(Bytes bytes) override;
  [[nodiscard]] Result<std::size_t> recv_some(MutableBytes bytes) override;
  [[nodiscard]] bool ended() const noexcept override { return in_.ended || out_.ended; }
  [[nodiscard]] bool arm(unsigned interest, std::vector<pollfd>& fds) override;
  void close() noexcept override;

 private:
  // How far one direction has come.
  struct Turn {
    std::size_t stream = 0;
    std::size_t moved = 0;  // bytes of the stripe that is under way
    bool ended = false;
  };
  // The most that the stream whose turn it is may move now.
  [[nodiscard]] std::size_t room(const Turn& turn, std::size_t wanted) const noexcept;
  void advance(Turn& turn, std::size_t bytes) const noexcept;
  [[nodiscard]] Result<std::size_t> stopped(Step moved, Turn& turn) const;

  int peer_;
  std::vector<Stream> streams_;
  Turn in_;
  Turn out_;
};

}  // namespace ring::transport::tcp
