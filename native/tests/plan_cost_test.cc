// The choice of an algorithm, and what is forecast.
#include <doctest/doctest.h>

#include <string>  // for string

#include "ring/plan/cost.h"
#include "ring/plan/forecast.h"

namespace {

using namespace ring;
using namespace ring::plan;

Algorithm chosen(int members, std::uint64_t bytes, bool keeps_raw = false) {
  return choose_allreduce({members, bytes, bytes, keeps_raw}, Speeds{});
}

TEST_CASE("small messages take one step, middle ones two, large ones the ring") {
  for (const int members : {3, 4, 8}) {
    CHECK(chosen(members, 4) == Algorithm::kExchange);
    CHECK(chosen(members, 64 << 10) == Algorithm::kPairwise);
    CHECK(chosen(members, 64 << 20) == Algorithm::kRing);
  }
  CHECK(chosen(2, 1 << 10) == Algorithm::kExchange);
  CHECK(chosen(2, 64 << 20) == Algorithm::kPairwise);
}

TEST_CASE("beyond eight members small messages take the tree, large ones the ring") {
  for (const int members : {9, 64, 10000}) {
    CHECK(chosen(members, 4) == Algorithm::kTree);
    CHECK(chosen(members, std::uint64_t{1} << 33) == Algorithm::kRing);
  }
}

TEST_CASE("what would be rounded on the way travels raw as long as there are links between all") {
  CHECK(chosen(8, 64 << 20, true) == Algorithm::kPairwise);
  CHECK(chosen(9, 64 << 20, true) == Algorithm::kRing);
}

TEST_CASE("everything takes longer with more bytes and more members") {
  for (const auto algorithm :
       {Algorithm::kExchange, Algorithm::kPairwise, Algorithm::kRing, Algorithm::kTree}) {
    double last = 0;
    for (std::uint64_t bytes = 1; bytes < (std::uint64_t{1} << 40); bytes *= 16) {
      const double seconds = allreduce_seconds(algorithm, {8, bytes, bytes}, Speeds{});
      CHECK(seconds > last);
      CHECK(allreduce_seconds(algorithm, {16, bytes, bytes}, Speeds{}) > seconds);
      last = seconds;
    }
  }
}

TEST_CASE("a forecast counts what leaves a host: two ranks a host send no more than one") {
  Question question;
  question.ranks = question.hosts = 4;
  question.bytes = 64 << 20;
  const auto alone = forecast(question, Speeds{});
  question.ranks = 8;
  const auto two = forecast(question, Speeds{});
  CHECK(alone.host_bytes == 1.5 * (64 << 20));
  CHECK(two.host_bytes == alone.host_bytes);
  CHECK(two.rails == 2);
  question.wire = DType::kBFloat16;
  CHECK(forecast(question, Speeds{}).host_bytes == alone.host_bytes / 2);
  question.hosts = 1;
  CHECK(forecast(question, Speeds{}).host_bytes == 0);
}

TEST_CASE("forecasts print with the reasons, and go on to ten thousand ranks") {
  Question question;
  question.bytes = 1 << 20;
  const auto text = to_string(forecast(question, Speeds{}));
  CHECK(text.find("pairwise among 2 hosts") != std::string::npos);
  CHECK(text.find("not ring: between two") != std::string::npos);
  const auto rows = simulate(question, 2, 10000, Speeds{});
  CHECK(rows.front().question.ranks == 8);
  CHECK(rows.back().question.ranks == 10000);
  CHECK(rows.back().question.hosts == 5000);
}

}  // namespace
