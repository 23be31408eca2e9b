// Fingerprint: the fixed header that ring neighbours exchange before data moves, so that ranks that call
// different collectives learn it instead of mixing up bytes. Pure.
#pragma once

#include <array>    // for array
#include <cstdint>  // for uint64_t
#include <string>   // for string

#include "ring/backend/backend.h"
#include "ring/base/status.h"
#include "ring/comm/operation.h"

namespace ring::comm {

inline constexpr std::size_t kLabelBytes = 176;

// Wire format, version 1: little endian, no padding. Change it together with the protocol version.
struct Header {
  std::uint64_t sequence = 0;
  std::uint64_t count = 0;        // elements of all parts
  std::uint64_t counts_hash = 0;  // of the parts
  std::uint64_t label_hash = 0;
  double prescale = 1;
  double postscale = 1;
  std::uint32_t label_size = 0;
  std::int32_t root = kNoRoot;
  std::uint32_t magic = 0;
  Kind kind = Kind::kBarrier;
  DType dtype = DType::kUint8;
  ReduceOp op = ReduceOp::kSum;
  DType wire = DType::kUint8;
  std::uint32_t group = 0;  // which set of ranks
  std::uint32_t reserved = 0;
  std::array<char, kLabelBytes> label{};  // the first bytes of it, for people
};
static_assert(sizeof(Header) == backend::kHeaderBytes, "the header must have no padding");

[[nodiscard]] Header header_of(const Operation& operation);

// "allreduce #3 'loss' (float32 x 4, mean)"
[[nodiscard]] std::string describe(const Header& header);

// "allreduce #3 'loss' (float32 x 4, mean) did not run", because of `cause`, with its code, rank and host.
[[nodiscard]] Status failed(const Operation& operation, const char* how, const Status& cause);

// The header as the backend sees it. Lives on the stack of the call; no heap memory until a message is
// needed.
class Fingerprint final : public backend::Agreement {
 public:
  // `backend` tells own place and host names; it must outlive this.
  Fingerprint(const Operation& operation, const backend::Backend& backend);

  [[nodiscard]] const Header& values() const noexcept { return header_; }
  [[nodiscard]] Bytes header() const override { return {&header_, sizeof header_}; }
  [[nodiscard]] std::uint64_t hash() const override { return hash_; }
  [[nodiscard]] std::string name() const override { return describe(header_); }
  [[nodiscard]] Status compare(int world_rank, Bytes theirs) const override;

 private:
  const backend::Backend& backend_;
  Header header_;
  std::uint64_t hash_;
};

}  // namespace ring::comm
