// The Extender between ranks that are threads of one process: whoever comes first makes the link and leaves
// the other end for the other one. Thread-safe.
#pragma once

#include <cstddef>  // for size_t
#include <map>      // for map
#include <memory>   // for shared_ptr, unique_ptr
#include <mutex>    // for mutex
#include <utility>  // for pair
#include <vector>   // for vector

#include "ring/transport/extender.h"

namespace ring::transport::inproc {

// What the extenders of one group share.
struct Counter {
  std::mutex mutex;
  std::map<std::pair<int, int>, std::unique_ptr<Link>> ends;  // left for `first`, leads to `second`
};

class InprocExtender final : public Extender {
 public:
  InprocExtender(std::shared_ptr<Counter> counter, int rank, std::size_t ring_bytes)
      : counter_(std::move(counter)), rank_(rank), ring_bytes_(ring_bytes) {}

  [[nodiscard]] Status extend(std::vector<std::unique_ptr<Link>>& links, const std::vector<int>& peers,
                              Deadline deadline, backend::Interrupt& interrupt) override;

 private:
  std::shared_ptr<Counter> counter_;
  int rank_;
  std::size_t ring_bytes_;
};

}  // namespace ring::transport::inproc
