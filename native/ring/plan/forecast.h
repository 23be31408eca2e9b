// Forecast: what an allreduce over ranks on hosts will do, how long it will take and what crosses each host's
// link, by the cost model. Pure; printable.
#pragma once

#include <cstdint>  // for uint64_t
#include <string>   // for string
#include <vector>   // for vector

#include "ring/base/dtype.h"
#include "ring/plan/cost.h"

namespace ring::plan {

// Ranks are spread as evenly as possible over the hosts.
struct Question {
  int ranks = 2;
  int hosts = 2;
  std::uint64_t bytes = 0;  // of each rank's buffer
  DType dtype = DType::kFloat32;
  DType accumulator = DType::kFloat32;  // of dtype and operation
  DType wire = DType::kFloat32;         // what float32 is compressed to, else dtype
};

struct Option {
  Algorithm algorithm;
  bool possible;
  double seconds;
};

struct Forecast {
  Question question;
  int rails = 1;    // that the wire stage runs on, side by side
  Wanted wanted{};  // of one rail
  Algorithm algorithm = Algorithm::kRing;
  std::vector<Option> options;
  double local_seconds = 0;
  double wire_seconds = 0;
  double host_bytes = 0;  // that leave a host, and come to it

  [[nodiscard]] double seconds() const noexcept { return local_seconds + wire_seconds; }
};

// Below so many bytes one rail takes all.
inline constexpr std::uint64_t kOneRailBytes = 64 * 1024;

[[nodiscard]] Forecast forecast(const Question& question, const Speeds& speeds);

// The stages, the choice with its reasons, the bytes on the wire.
[[nodiscard]] std::string to_string(const Forecast& forecast);

// 8 to `most` ranks, doubling, `per_host` on each host.
[[nodiscard]] std::vector<Forecast> simulate(Question question, int per_host, int most, const Speeds& speeds);

}  // namespace ring::plan
