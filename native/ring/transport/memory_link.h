// MemoryLink: a Link over two byte rings in memory that both ends reach, with a socket as its lifeline and
// bell. The one link of inproc (ranks as threads) and shm (ranks as processes of one host).
// Owner: the Mesh. Thread-safety: as Link.
#pragma once

#include <memory>  // for shared_ptr
#include <string>  // for string

#include "ring/transport/byte_ring.h"
#include "ring/transport/lifeline.h"
#include "ring/transport/link.h"

namespace ring::transport {

// The two directions as one end sees them; `owner` keeps the memory mapped.
struct RingEnds {
  std::shared_ptr<void> owner;
  RingMemory out;
  RingMemory in;
};

class MemoryLink final : public Link {
 public:
  // `transport` is a literal.
  MemoryLink(const char* transport, Lifeline lifeline, RingEnds ends);
  ~MemoryLink() override = default;

  [[nodiscard]] int peer() const noexcept override { return lifeline_.peer(); }
  [[nodiscard]] std::string_view transport() const noexcept override { return transport_; }
  [[nodiscard]] Result<std::size_t> send_some(Bytes bytes) override;
  [[nodiscard]] Result<std::size_t> recv_some(MutableBytes bytes) override;
  [[nodiscard]] bool arm(unsigned interest, std::vector<pollfd>& fds) override;
  [[nodiscard]] Status check() override { return lifeline_.check(); }
  void send_abort(const Status& cause) noexcept override { lifeline_.send_abort(cause); }
  void close() noexcept override { lifeline_.close(); }

 private:
  const char* transport_;
  Lifeline lifeline_;
  std::shared_ptr<void> owner_;
  RingProducer out_;
  RingConsumer in_;
};

}  // namespace ring::transport
