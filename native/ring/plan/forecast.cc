#include "ring/plan/forecast.h"

#include <algorithm>  // for max, min
#include <cstdio>     // for snprintf

namespace ring::plan {
namespace {

constexpr Algorithm kAll[] = {Algorithm::kExchange, Algorithm::kPairwise, Algorithm::kTree, Algorithm::kRing};

std::string time_text(double seconds) {
  char text[32];
  if (seconds < 1e-3) {
    std::snprintf(text, sizeof text, "%.1f us", seconds * 1e6);
  } else if (seconds < 1) {
    std::snprintf(text, sizeof text, "%.2f ms", seconds * 1e3);
  } else {
    std::snprintf(text, sizeof text, "%.2f s", seconds);
  }
  return text;
}

std::string bytes_text(double bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f bytes", bytes);
  return text;
}

std::string steps_of(Algorithm algorithm, int members) {
  const std::string others = std::to_string(members - 1);
  switch (algorithm) {
    case Algorithm::kExchange:
      return "1 step: send all to " + others + " others, reduce all that came";
    case Algorithm::kPairwise:
      return "2 steps: send each of " + others + " others its part, then the own part's result to all";
    case Algorithm::kRing:
      return "2 x " + others + " steps of 1/" + std::to_string(members) +
             " as one stream: parts round to their owners, then results round";
    case Algorithm::kTree:
      return "up a binary heap to member 0 and down again, as streams";
  }
  return {};
}

const char* reason_against(Algorithm algorithm, const Wanted& wanted) {
  if (algorithm == Algorithm::kExchange || algorithm == Algorithm::kPairwise) {
    return "there are links between all only up to 8 hosts";
  }
  return wanted.members <= 2 ? "between two it is what pairwise is, with more messages"
                             : "partial results would be wider or rounded";
}

// What the ranks of one host do before and after: everybody reads what the others have, twice.
double local_seconds(int ranks, std::uint64_t bytes, const Speeds& speeds) {
  if (ranks <= 1) return 0;
  return 2 * speeds.local.alpha_s + 2 * static_cast<double>(bytes) / speeds.local.bytes_per_s;
}

}  // namespace

Forecast forecast(const Question& question, const Speeds& speeds) {
  Forecast made;
  made.question = question;
  const int hosts = std::min(question.hosts, question.ranks);
  const int least = question.ranks / hosts;
  const int most = (question.ranks + hosts - 1) / hosts;
  made.rails = question.bytes <= kOneRailBytes ? 1 : least;
  made.local_seconds = local_seconds(most, question.bytes, speeds);
  if (hosts == 1) return made;
  const bool compresses = question.wire != question.dtype;
  const DType raw = compresses ? question.wire : most > 1 ? question.accumulator : question.dtype;
  const std::uint64_t count =
      question.bytes / size_of(question.dtype) / static_cast<std::uint64_t>(made.rails);
  made.wanted = {hosts, count * size_of(raw), count * size_of(compresses ? question.wire : question.dtype),
                 compresses || raw != question.accumulator};
  // The rails of a host share its link, so each has a part of its speed.
  Speeds shared = speeds;
  shared.wire.bytes_per_s /= made.rails;
  for (const auto algorithm : kAll) {
    const bool possible = can(algorithm, made.wanted);
    made.options.push_back({algorithm, possible, allreduce_seconds(algorithm, made.wanted, shared)});
  }
  made.algorithm = choose_allreduce(made.wanted, Speeds{});
  made.wire_seconds = allreduce_seconds(made.algorithm, made.wanted, shared);
  made.host_bytes = allreduce_bytes(made.algorithm, made.wanted) * made.rails;
  return made;
}

std::string to_string(const Forecast& forecast) {
  const auto& question = forecast.question;
  std::string text = "allreduce of " + std::to_string(question.bytes) + " bytes (" + name_of(question.dtype) +
                     ") over " + std::to_string(question.ranks) + " ranks on " +
                     std::to_string(question.hosts) + " hosts: " + time_text(forecast.seconds()) + "\n";
  if (question.ranks > question.hosts) {
    text += "  on each host: reducescatter before and allgather after, in shared memory: " +
            time_text(forecast.local_seconds) + "\n";
  }
  if (question.hosts == 1) return text + "  on the wire: nothing\n";
  const std::string rails = forecast.rails == 1 ? "1 rail" : std::to_string(forecast.rails) + " rails";
  text += "  on the wire: " + std::string(name_of(forecast.algorithm)) + " among " +
          std::to_string(question.hosts) + " hosts on " + rails + ": " + time_text(forecast.wire_seconds) +
          "\n";
  text += "    " + steps_of(forecast.algorithm, question.hosts) + "\n";
  text += "    " + bytes_text(forecast.host_bytes) + " leave each host and as many come\n";
  for (const auto& option : forecast.options) {
    if (option.algorithm == forecast.algorithm) continue;
    text +=
        "    not " + std::string(name_of(option.algorithm)) + ": " +
        (option.possible ? time_text(option.seconds) : reason_against(option.algorithm, forecast.wanted)) +
        "\n";
  }
  return text;
}

std::vector<Forecast> simulate(Question question, int per_host, int most, const Speeds& speeds) {
  std::vector<Forecast> rows;
  for (int ranks = 8;; ranks = std::min(2 * ranks, most)) {
    question.ranks = ranks;
    question.hosts = std::max(1, ranks / per_host);
    rows.push_back(forecast(question, speeds));
    if (ranks >= most) return rows;
  }
}

}  // namespace ring::plan
