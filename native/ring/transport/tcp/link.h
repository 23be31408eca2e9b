// TcpLink: the data of one peer on one socket. An end of the stream only stops the watching of it: the
// farewell or abort that explains it comes through the lifeline. Owner: the Mesh. Thread-safety: as Link.
#pragma once

#include "ring/base/fork_guard.h"
#include "ring/base/unique_fd.h"
#include "ring/transport/link.h"

namespace ring::transport::tcp {

class TcpLink final : public Link {
 public:
  TcpLink(int peer, UniqueFd data);
  ~TcpLink() override = default;

  [[nodiscard]] int peer() const noexcept override { return peer_; }
  [[nodiscard]] std::string_view transport() const noexcept override { return "tcp"; }
  [[nodiscard]] Result<std::size_t> send_some(Bytes bytes) override;
  [[nodiscard]] Result<std::size_t> recv_some(MutableBytes bytes) override;
  [[nodiscard]] bool ended() const noexcept override { return in_ended_ || out_ended_; }
  [[nodiscard]] bool arm(unsigned interest, std::vector<pollfd>& fds) override;
  void close() noexcept override;

 private:
  // What an unsuccessful call on the data socket means: would block, ended, or broken.
  [[nodiscard]] Result<std::size_t> take_error(int error, bool& ended) const;

  int peer_;
  GuardedFd data_;
  bool in_ended_ = false;
  bool out_ended_ = false;
};

}  // namespace ring::transport::tcp
