// Outgoing, Incoming: what one collective gives to one peer and takes from it, each a stream of bytes whose
// length both ends know. Used by the pump only, on the thread that executes the collective.
#pragma once

#include <algorithm>  // for min
#include <cstddef>    // for byte, size_t
#include <cstdint>    // for uint64_t

#include "ring/base/bytes.h"

namespace ring::algo::wire {

class Outgoing {
 public:
  Outgoing() = default;
  Outgoing(const Outgoing&) = default;
  Outgoing& operator=(const Outgoing&) = default;
  virtual ~Outgoing() = default;

  // What may leave now; empty: nothing yet, or nothing more.
  [[nodiscard]] virtual Bytes ready() = 0;
  virtual void sent(std::size_t bytes) = 0;
  [[nodiscard]] virtual bool done() const = 0;
};

class Incoming {
 public:
  Incoming() = default;
  Incoming(const Incoming&) = default;
  Incoming& operator=(const Incoming&) = default;
  virtual ~Incoming() = default;

  // Where the next bytes go; empty: no room yet, or nothing more to come.
  [[nodiscard]] virtual MutableBytes room() = 0;
  virtual void received(std::size_t bytes) = 0;
  // Bytes still to come.
  [[nodiscard]] virtual std::uint64_t left() const = 0;
};

// Memory sent as it is. `limit`: bytes that are there already, counted by somebody else; null: all.
class SendSpan final : public Outgoing {
 public:
  SendSpan() = default;
  explicit SendSpan(Bytes bytes, const std::uint64_t* limit = nullptr) : bytes_(bytes), limit_(limit) {}

  [[nodiscard]] Bytes ready() override {
    const auto end = limit_ == nullptr ? bytes_.size : std::min<std::uint64_t>(bytes_.size, *limit_);
    return {bytes_.data + sent_, static_cast<std::size_t>(end) - sent_};
  }
  void sent(std::size_t bytes) override { sent_ += bytes; }
  [[nodiscard]] bool done() const override { return sent_ == bytes_.size; }

 private:
  Bytes bytes_;
  const std::uint64_t* limit_ = nullptr;
  std::size_t sent_ = 0;
};

// Memory received into its place.
class ReceiveSpan final : public Incoming {
 public:
  ReceiveSpan() = default;
  explicit ReceiveSpan(MutableBytes bytes) : bytes_(bytes) {}

  [[nodiscard]] MutableBytes room() override { return bytes_.from(static_cast<std::size_t>(arrived_)); }
  void received(std::size_t bytes) override { arrived_ += bytes; }
  [[nodiscard]] std::uint64_t left() const override { return bytes_.size - arrived_; }

  // For those who send it on.
  [[nodiscard]] const std::uint64_t& arrived() const noexcept { return arrived_; }

 private:
  MutableBytes bytes_;
  std::uint64_t arrived_ = 0;
};

// One stream behind another.
class SendBoth final : public Outgoing {
 public:
  SendBoth() = default;
  SendBoth(Outgoing& first, Outgoing& second) : first_(&first), second_(&second) {}

  [[nodiscard]] Bytes ready() override { return now().ready(); }
  void sent(std::size_t bytes) override { now().sent(bytes); }
  [[nodiscard]] bool done() const override { return first_->done() && second_->done(); }

 private:
  [[nodiscard]] Outgoing& now() { return first_->done() ? *second_ : *first_; }

  Outgoing* first_ = nullptr;
  Outgoing* second_ = nullptr;
};

class ReceiveBoth final : public Incoming {
 public:
  ReceiveBoth() = default;
  ReceiveBoth(Incoming& first, Incoming& second) : first_(&first), second_(&second) {}

  [[nodiscard]] MutableBytes room() override { return now().room(); }
  void received(std::size_t bytes) override { now().received(bytes); }
  [[nodiscard]] std::uint64_t left() const override { return first_->left() + second_->left(); }

 private:
  [[nodiscard]] Incoming& now() { return first_->left() > 0 ? *first_ : *second_; }

  Incoming* first_ = nullptr;
  Incoming* second_ = nullptr;
};

}  // namespace ring::algo::wire
