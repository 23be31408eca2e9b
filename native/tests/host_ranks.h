// Ranks of several hosts as threads: those of one host over a segment, rails over links in memory.
#pragma once

#include <doctest/doctest.h>

#include <atomic>      // for atomic
#include <functional>  // for function
#include <memory>      // for unique_ptr
#include <string>      // for string
#include <thread>      // for thread
#include <utility>     // for move
#include <vector>      // for vector

#include "ring/algo/host_backend.h"
#include "ring/transport/inproc/group.h"
#include "wire_group.h"

namespace ring::testing {

// One mesh for each rank; `hosts` by rank.
inline std::vector<transport::Mesh> meshes_on(const std::vector<int>& hosts) {
  auto met = transport::inproc_meshes(hosts);
  REQUIRE(met);
  return std::move(met).value();
}

class HostRanks {
 public:
  using Body = std::function<Status(algo::HostBackend&, const backend::Call&)>;

  explicit HostRanks(const std::vector<int>& hosts) : hosts_(hosts) {
    for (auto& mesh : meshes_on(hosts)) {
      interrupts_.push_back(std::make_unique<backend::Interrupt>());
      auto made = algo::HostBackend::make(std::move(mesh), *interrupts_.back());
      REQUIRE_MESSAGE(made, made.status().report());
      backends_.push_back(std::move(made).value());
    }
  }

  [[nodiscard]] int size() const { return static_cast<int>(backends_.size()); }
  [[nodiscard]] algo::HostBackend& backend(int rank) { return *backends_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] backend::Interrupt& interrupt(int rank) {
    return *interrupts_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] std::string text() const {
    std::string text = "hosts";
    for (const int host : hosts_) text += " " + std::to_string(host);
    return text;
  }

  std::vector<Status> on_all(const Body& body) {
    std::vector<Status> outcomes(backends_.size());
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < backends_.size(); ++rank) {
      threads.emplace_back([&, rank] {
        const Says what("test");
        outcomes[rank] = body(*backends_[rank], {what, 60});
      });
    }
    for (auto& thread : threads) thread.join();
    return outcomes;
  }

 private:
  std::vector<int> hosts_;
  std::vector<std::unique_ptr<backend::Interrupt>> interrupts_;
  std::vector<std::unique_ptr<algo::HostBackend>> backends_;
};

}  // namespace ring::testing
