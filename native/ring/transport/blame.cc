#include "ring/transport/blame.h"

#include <algorithm>  // for find

namespace ring::transport {
namespace {

bool is_timeout(const Status& cause) {
  return cause.code() == Code::kCollectiveTimeout && cause.rank() >= 0;
}

}  // namespace

Status own_view(const Status& cause, int rank, int waited_for, const std::vector<std::string>& hosts) {
  const bool blames_us = is_timeout(cause) && cause.rank() == rank;
  if (!blames_us || waited_for < 0 || waited_for == rank) return cause;
  const auto place = static_cast<std::size_t>(waited_for);
  const std::string host = place < hosts.size() ? hosts[place] : std::string();
  const std::string text = "rank " + std::to_string(rank) +
                           " kept others waiting because it waited for rank " + std::to_string(waited_for) +
                           " on " + host;
  return Status(Code::kCollectiveTimeout, text, waited_for, host).because(cause);
}

Verdict resolve(const Status& start, const Views& views) {
  Status best = start;
  std::vector<int> asked;
  while (is_timeout(best)) {
    const int blamed = best.rank();
    const auto circle = std::find(asked.begin(), asked.end(), blamed);
    if (circle != asked.end()) {
      for (auto rank = circle; rank != asked.end(); ++rank) {
        const Status& view = views.at(*rank);
        if (view.rank() > best.rank()) best = view;
      }
      return {best, true};
    }
    asked.push_back(blamed);
    const auto view = views.find(blamed);
    if (view == views.end()) return {best, false};
    const bool takes_it = is_timeout(view->second) && view->second.rank() == blamed;
    if (takes_it || view->second.rank() < 0) return {best, true};
    best = view->second;
  }
  return {best, true};
}

}  // namespace ring::transport
