// The members of one Wire, each with a mesh of its own, run as threads.
#pragma once

#include <doctest/doctest.h>

#include <array>       // for array
#include <cstring>     // for memcpy
#include <functional>  // for function
#include <memory>      // for unique_ptr
#include <numeric>     // for iota
#include <string>      // for string
#include <thread>      // for thread
#include <utility>     // for move
#include <vector>      // for vector

#include "ring/algo/wire/wire.h"
#include "ring/backend/backend.h"
#include "ring/transport/inproc/group.h"

namespace ring::testing {

// An agreement on a text.
class Says final : public backend::Agreement {
 public:
  explicit Says(std::string text) : text_(std::move(text)) { text_.copy(header_.data(), header_.size()); }

  [[nodiscard]] Bytes header() const override { return {header_.data(), header_.size()}; }
  [[nodiscard]] std::uint64_t hash() const override { return std::hash<std::string>()(text_); }
  [[nodiscard]] std::string name() const override { return text_; }
  [[nodiscard]] Status compare(int rank, Bytes theirs) const override {
    if (std::memcmp(theirs.data, header_.data(), header_.size()) == 0) return {};
    const std::string other(reinterpret_cast<const char*>(theirs.data));
    return {Code::kMismatch, "'" + text_ + "' here, '" + other + "' there", rank};
  }

 private:
  std::string text_;
  std::array<char, backend::kHeaderBytes> header_{};
};

class WireGroup {
 public:
  using Body = std::function<Status(algo::Wire&, const backend::Call&)>;

  explicit WireGroup(std::vector<transport::Mesh> meshes) : meshes_(std::move(meshes)) {
    std::vector<int> ranks(meshes_.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    for (auto& mesh : meshes_) {
      interrupts_.push_back(std::make_unique<backend::Interrupt>());
      meters_.push_back(std::make_unique<backend::Meter>());
      wires_.push_back(std::make_unique<algo::Wire>(mesh, ranks, *interrupts_.back(), *meters_.back()));
    }
  }

  [[nodiscard]] int size() const { return static_cast<int>(meshes_.size()); }
  [[nodiscard]] algo::Wire& wire(int member) { return *wires_[static_cast<std::size_t>(member)]; }
  [[nodiscard]] const backend::Meter& meter(int member) { return *meters_[static_cast<std::size_t>(member)]; }
  [[nodiscard]] backend::Interrupt& interrupt(int member) {
    return *interrupts_[static_cast<std::size_t>(member)];
  }
  [[nodiscard]] transport::Mesh& mesh(int member) { return meshes_[static_cast<std::size_t>(member)]; }
  void assume(const plan::Speeds& speeds) {
    for (auto& wire : wires_) wire->assume(speeds);
  }

  // Runs `body` on the given members at once, each in a thread, saying what `says` gives; outcomes by member.
  std::vector<Status> on(const std::vector<int>& members, const Body& body,
                         const std::function<std::string(int)>& says, double timeout_s = 60) {
    std::vector<Status> outcomes(meshes_.size());
    std::vector<std::thread> threads;
    for (const int member : members) {
      threads.emplace_back([&, member] {
        const Says what(says(member));
        outcomes[static_cast<std::size_t>(member)] = body(wire(member), {what, timeout_s});
      });
    }
    for (auto& thread : threads) thread.join();
    return outcomes;
  }
  std::vector<Status> on_all(const Body& body) {
    std::vector<int> members(meshes_.size());
    std::iota(members.begin(), members.end(), 0);
    return on(members, body, [](int) { return std::string("test"); });
  }

 private:
  std::vector<transport::Mesh> meshes_;
  std::vector<std::unique_ptr<backend::Interrupt>> interrupts_;
  std::vector<std::unique_ptr<backend::Meter>> meters_;
  std::vector<std::unique_ptr<algo::Wire>> wires_;
};

inline WireGroup inproc_wires(int size) {
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  auto met = transport::inproc_meshes(ranks);
  REQUIRE(met);
  auto meshes = std::move(met).value();
  for (auto& mesh : meshes) {  // links to all, as alltoall needs them
    backend::Interrupt interrupt;
    std::vector<int> others = ranks;
    others.erase(others.begin() + mesh.rank);
    REQUIRE(mesh.extender->extend(mesh.links, others, Deadline::after(60), interrupt));
  }
  return WireGroup(std::move(meshes));
}

inline bool all_fine(const std::vector<Status>& outcomes) {
  for (const auto& status : outcomes) {
    if (!status) {
      MESSAGE(status.report());
      return false;
    }
  }
  return true;
}

// Speeds with which the given algorithm is the one to choose for so many bytes.
inline plan::Speeds speeds_for(plan::Algorithm algorithm, std::uint64_t bytes) {
  plan::Speeds speeds;
  const double rate = static_cast<double>(bytes == 0 ? 1 : bytes);
  speeds.wire = {1, rate};
  speeds.reduce_bytes_per_s = 1e18;
  switch (algorithm) {
    case plan::Algorithm::kExchange:
    case plan::Algorithm::kTree:
      speeds.wire.bytes_per_s = 1e18;
      break;
    case plan::Algorithm::kPairwise:
      speeds.wire.bytes_per_s = rate / 2;
      speeds.reduce_bytes_per_s = rate / 4;
      break;
    case plan::Algorithm::kRing:
      speeds.wire.alpha_s = 0;
      break;
  }
  return speeds;
}

}  // namespace ring::testing
