// TcpLink: bulk data on one socket, lifeline on a second one, so that an abort never queues behind data.
// The lifeline alone judges life and death: a data socket that ends first only stops being watched, for the
// farewell or abort that explains it may still be on its way. Owner: the Mesh. Thread-safety: as Link.
#pragma once

#include "ring/base/unique_fd.h"
#include "ring/transport/lifeline.h"
#include "ring/transport/link.h"

namespace ring::transport::tcp {

class TcpLink final : public Link {
 public:
  TcpLink(Lifeline lifeline, UniqueFd data);
  ~TcpLink() override = default;

  [[nodiscard]] int peer() const noexcept override { return lifeline_.peer(); }
  [[nodiscard]] std::string_view transport() const noexcept override { return "tcp"; }
  [[nodiscard]] Result<std::size_t> send_some(Bytes bytes) override;
  [[nodiscard]] Result<std::size_t> recv_some(MutableBytes bytes) override;
  [[nodiscard]] bool arm(unsigned interest, std::vector<pollfd>& fds) override;
  [[nodiscard]] Status check() override { return lifeline_.check(); }
  void send_abort(const Status& cause) noexcept override { lifeline_.send_abort(cause); }
  void close() noexcept override;

 private:
  // What an unsuccessful call on the data socket means: would block, ended, or broken.
  Result<std::size_t> take_data_error(int error);
  Result<std::size_t> take_data_end();

  UniqueFd data_;
  Lifeline lifeline_;  // after the data, so that its end goes out first and wakes the peer with the cause
  bool data_ended_ = false;
};

}  // namespace ring::transport::tcp
