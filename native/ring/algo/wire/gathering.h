// Gathering: the values of several peers for one range of elements, folded block by block as soon as all have
// brought them. Who runs ahead is held back by its window. Owner: one call; executing thread only.
#pragma once

#include <array>    // for array
#include <cstddef>  // for byte, size_t
#include <cstdint>  // for uint64_t

#include "ring/algo/wire/stream.h"

namespace ring::algo::wire {

// Where blocks go once all peers have brought them.
class Folder {
 public:
  Folder() = default;
  Folder(const Folder&) = default;
  Folder& operator=(const Folder&) = default;
  virtual ~Folder() = default;
  // `arrived`: for each peer in the order of `Gathering::from`, elements [offset, offset + count).
  virtual void fold(const std::byte* const* arrived, std::uint64_t offset, std::size_t count) = 0;
};

class Gathering {
 public:
  static constexpr int kMostPeers = 7;
  // Of all windows together: they stay in the second-level cache, or nearly.
  static constexpr std::size_t kWindowsBytes = 512 * 1024;

  // `count` elements of `width` bytes from each of `num_peers`.
  void begin(int num_peers, std::uint64_t count, std::size_t width, Folder& folder);
  // What `use` needs to be given.
  [[nodiscard]] std::size_t space() const noexcept;
  void use(std::byte* space);

  [[nodiscard]] Incoming& from(int index) { return peers_[static_cast<std::size_t>(index)]; }
  // Elements that are folded.
  [[nodiscard]] std::uint64_t folded() const noexcept { return folded_; }

 private:
  class Peer final : public Incoming {
   public:
    [[nodiscard]] MutableBytes room() override;
    void received(std::size_t bytes) override;
    [[nodiscard]] std::uint64_t left() const override;

    Gathering* all = nullptr;
    std::byte* window = nullptr;
    std::uint64_t arrived = 0;  // bytes
  };
  void fold();

  Folder* folder_ = nullptr;
  int num_peers_ = 0;
  std::uint64_t count_ = 0;
  std::size_t width_ = 1;
  std::uint64_t window_ = 0;  // elements
  std::uint64_t folded_ = 0;  // elements
  std::array<Peer, kMostPeers> peers_;
};

}  // namespace ring::algo::wire
