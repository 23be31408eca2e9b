// Ranks of one host as threads, over a segment in this process.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>   // for copy, min
#include <array>       // for array
#include <functional>  // for function
#include <memory>      // for make_shared, make_unique
#include <numeric>     // for iota
#include <string>      // for string
#include <thread>      // for thread
#include <vector>      // for vector

#include "ring/algo/local/local.h"
#include "ring/backend/backend.h"
#include "ring/shm/segment.h"

namespace ring::testing {

inline constexpr double kLocalPatience = 60;  // far above what anything takes, sanitizers included

// Ranks that give the same text agree.
class TextAgreement final : public backend::Agreement {
 public:
  explicit TextAgreement(std::string text) : text_(std::move(text)) {
    const auto* bytes = reinterpret_cast<const std::byte*>(text_.data());
    std::copy(bytes, bytes + std::min(text_.size(), header_.size()), header_.begin());
  }
  [[nodiscard]] Bytes header() const override { return {header_.data(), header_.size()}; }
  [[nodiscard]] std::uint64_t hash() const override { return std::hash<std::string>{}(text_); }
  [[nodiscard]] std::string name() const override { return text_; }
  [[nodiscard]] Status compare(int rank, Bytes theirs) const override {
    const std::string other(reinterpret_cast<const char*>(theirs.data));
    return {Code::kMismatch, "here " + text_ + ", rank " + std::to_string(rank) + " " + other, rank};
  }

 private:
  std::string text_;
  std::array<std::byte, backend::kHeaderBytes> header_{};
};

inline shm::SegmentOptions small_segment(int size) {
  shm::SegmentOptions options;
  options.local_size = size;
  options.address_space_bytes = std::uint64_t{1} << 30;
  options.slot_bytes = std::size_t{64} << 10;
  return options;
}

inline algo::LocalSettings unprobed() {
  algo::LocalSettings settings;
  settings.probe = false;
  return settings;
}

class LocalRanks {
 public:
  explicit LocalRanks(int size) : LocalRanks(small_segment(size), unprobed()) {}
  LocalRanks(const shm::SegmentOptions& options, const algo::LocalSettings& settings)
      : segment_(shm::Segment::in_process(options)), ranks_(static_cast<std::size_t>(options.local_size)) {
    REQUIRE(static_cast<bool>(segment_));
    std::vector<int> indices(ranks_.size());
    std::iota(indices.begin(), indices.end(), 0);
    for (int index = 0; index < options.local_size; ++index) {
      auto& rank = ranks_[static_cast<std::size_t>(index)];
      rank = std::make_unique<Rank>();
      auto seat = std::make_shared<shm::Seat>(segment_, index);
      auto group = shm::LocalGroup::join(seat, shm::area_of_host(*segment_), index, indices);
      REQUIRE(group);
      rank->seat = seat;
      rank->local = std::make_unique<algo::Local>(std::move(group).value(), indices, rank->interrupt,
                                                  rank->meter, settings);
    }
  }

  using Body = std::function<Status(algo::Local&, std::size_t index)>;

  // Runs on every rank at once; outcomes by rank.
  std::vector<Status> on_all(const Body& body) {
    std::vector<Status> outcomes(ranks_.size());
    std::vector<std::thread> threads;
    for (std::size_t index = 0; index < ranks_.size(); ++index) {
      threads.emplace_back([&, index] { outcomes[index] = body(*ranks_[index]->local, index); });
    }
    for (auto& thread : threads) thread.join();
    return outcomes;
  }

  [[nodiscard]] bool all_ok(const Body& body) {
    bool ok = true;
    for (const auto& status : on_all(body)) {
      if (!status) MESSAGE(status.report());
      ok = ok && status.is_ok();
    }
    return ok;
  }

  [[nodiscard]] int size() const { return static_cast<int>(ranks_.size()); }
  [[nodiscard]] algo::Local& local(std::size_t index) { return *ranks_[index]->local; }
  [[nodiscard]] backend::Interrupt& interrupt(std::size_t index) { return ranks_[index]->interrupt; }
  [[nodiscard]] const backend::Meter& meter(std::size_t index) { return ranks_[index]->meter; }
  [[nodiscard]] const std::shared_ptr<shm::Seat>& seat(std::size_t index) { return ranks_[index]->seat; }
  [[nodiscard]] const std::shared_ptr<shm::Segment>& segment() { return segment_; }
  void leave(std::size_t index) { ranks_[index]->local.reset(); }

 private:
  struct Rank {
    backend::Interrupt interrupt;
    backend::Meter meter;
    std::shared_ptr<shm::Seat> seat;
    std::unique_ptr<algo::Local> local;
  };
  std::shared_ptr<shm::Segment> segment_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace ring::testing
