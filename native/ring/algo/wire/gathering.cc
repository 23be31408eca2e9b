#include "ring/algo/wire/gathering.h"

#include <algorithm>  // for max, min

namespace ring::algo::wire {
namespace {

constexpr std::size_t kLine = 64;

}  // namespace

void Gathering::begin(int num_peers, std::uint64_t count, std::size_t width, Folder& folder) {
  folder_ = &folder;
  num_peers_ = num_peers;
  count_ = count;
  width_ = width;
  folded_ = 0;
  const auto most = kWindowsBytes / static_cast<std::size_t>(std::max(num_peers, 1)) / width;
  window_ = std::min<std::uint64_t>(count, most);
}

std::size_t Gathering::space() const noexcept {
  const std::size_t each = (static_cast<std::size_t>(window_) * width_ + kLine - 1) / kLine * kLine;
  return each * static_cast<std::size_t>(num_peers_);
}

void Gathering::use(std::byte* space) {
  const std::size_t each = num_peers_ == 0 ? 0 : this->space() / static_cast<std::size_t>(num_peers_);
  for (std::size_t i = 0; i < static_cast<std::size_t>(num_peers_); ++i) {
    peers_[i].all = this;
    peers_[i].window = space + i * each;
    peers_[i].arrived = 0;
  }
}

MutableBytes Gathering::Peer::room() {
  const std::uint64_t window = all->window_ * all->width_;
  const std::uint64_t waiting = arrived - all->folded_ * all->width_;
  if (window == 0 || waiting == window) return {};
  const std::uint64_t at = arrived % window;
  return {this->window + at, static_cast<std::size_t>(std::min({window - waiting, window - at, left()}))};
}

void Gathering::Peer::received(std::size_t bytes) {
  arrived += bytes;
  all->fold();
}

std::uint64_t Gathering::Peer::left() const {
  return all->count_ * all->width_ - arrived;
}

void Gathering::fold() {
  while (folded_ < count_) {
    std::uint64_t common = count_;
    for (int i = 0; i < num_peers_; ++i) {
      common = std::min(common, peers_[static_cast<std::size_t>(i)].arrived / width_);
    }
    const std::uint64_t at = folded_ % window_;
    const std::uint64_t block = std::min(common - folded_, window_ - at);  // up to where the windows wrap
    if (block == 0) return;
    std::array<const std::byte*, kMostPeers> arrived{};
    for (std::size_t i = 0; i < static_cast<std::size_t>(num_peers_); ++i) {
      arrived[i] = peers_[i].window + at * width_;
    }
    folder_->fold(arrived.data(), folded_, static_cast<std::size_t>(block));
    folded_ += block;
  }
}

}  // namespace ring::algo::wire
