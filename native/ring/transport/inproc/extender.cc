#include "ring/transport/inproc/extender.h"

#include "ring/transport/inproc/pair.h"

namespace ring::transport::inproc {

Status InprocExtender::extend(std::vector<std::unique_ptr<Link>>& links, const std::vector<int>& peers,
                              Deadline /*deadline*/, backend::Interrupt& /*interrupt*/) {
  const std::lock_guard lock(counter_->mutex);
  for (const int peer : peers) {
    auto& link = links[static_cast<std::size_t>(peer)];
    if (link) continue;
    const auto left = counter_->ends.find({rank_, peer});
    if (left != counter_->ends.end()) {
      link = std::move(left->second);
      counter_->ends.erase(left);
      continue;
    }
    auto made = link_pair(rank_, peer, ring_bytes_);
    if (!made) return made.status();
    link = std::move(made.value().first);
    counter_->ends[{peer, rank_}] = std::move(made.value().second);
  }
  return {};
}

}  // namespace ring::transport::inproc
