// Arguments that no collective can run with are refused at submit, in a world of one as in larger ones.
#include <doctest/doctest.h>

#include <cmath>   // for nan
#include <string>  // for string

#include "group.h"
#include "ring/comm/fingerprint.h"
#include "ring/comm/operation.h"

namespace {

using namespace ring;
using namespace ring::testing;
using comm::Kind;
using comm::Operation;

std::byte g_buffer[64];

Operation allreduce_of(DType dtype, ReduceOp op, std::uint64_t count) {
  Operation operation;
  operation.kind = Kind::kAllreduce;
  operation.dtype = dtype;
  operation.op = op;
  operation.count = count;
  operation.send = g_buffer;
  operation.recv = g_buffer;
  operation.timeout_s = 1;
  return operation;
}

void check_refused(const Operation& operation, const std::string& word) {
  for (const int size : {1, 3}) {
    const auto status = comm::check(operation, 0, size);
    CHECK(status.code() == Code::kInvalidArgument);
    CHECK(status.message().find(word) != std::string::npos);
  }
}

TEST_CASE("bool and the 8-bit floats are not reduced, and the message says what to use") {
  check_refused(allreduce_of(DType::kBool, ReduceOp::kMax, 1), "bool cannot be reduced; cast to uint8");
  check_refused(allreduce_of(DType::kFloat8E4M3, ReduceOp::kSum, 1), "float8_e4m3fn cannot be reduced; cast");
  check_refused(allreduce_of(DType::kFloat8E5M2, ReduceOp::kMean, 1), "float8_e5m2 cannot be reduced; cast");
}

TEST_CASE("codes that do not exist are refused") {
  check_refused(allreduce_of(DType::kInt128, ReduceOp::kSum, 1), "dtype code 255");
  check_refused(allreduce_of(static_cast<DType>(99), ReduceOp::kSum, 1), "dtype code 99");
  check_refused(allreduce_of(DType::kInt32, static_cast<ReduceOp>(9), 1), "op code 9");
}

TEST_CASE("a root that is no rank is refused") {
  auto operation = allreduce_of(DType::kInt32, ReduceOp::kSum, 1);
  operation.kind = Kind::kBroadcast;
  for (const int root : {-1, 3}) {
    operation.root = root;
    check_refused(operation, "root " + std::to_string(root));
  }
}

TEST_CASE("null buffers, absurd counts and deadlines that are none are refused") {
  auto operation = allreduce_of(DType::kInt32, ReduceOp::kSum, 1);
  operation.recv = nullptr;
  check_refused(operation, "null");
  operation.count = 0;
  CHECK(comm::check(operation, 0, 1).is_ok());  // nothing may come from nowhere
  check_refused(allreduce_of(DType::kInt64, ReduceOp::kSum, std::uint64_t{1} << 61), "too large");
  operation.timeout_s = 0;
  check_refused(operation, "timeout_s");
  operation.timeout_s = std::nan("");
  check_refused(operation, "timeout_s");
}

TEST_CASE("counts by rank must be as many as ranks") {
  auto operation = allreduce_of(DType::kInt32, ReduceOp::kSum, 1);
  operation.kind = Kind::kAllgather;
  operation.counts = {1, 1};
  check_refused(operation, "ranks");
}

TEST_CASE("a refused argument leaves the communicator alive") {
  auto group = inproc_group(1);
  CHECK_FALSE(group[0].broadcast(g_buffer, 1, DType::kInt32, 3, {kPatience}));
  CHECK(outcome(group[0].barrier({kPatience})).is_ok());
}

comm::Header header_at(std::uint64_t sequence) {
  auto operation = allreduce_of(DType::kFloat32, ReduceOp::kMean, 4);
  operation.sequence = sequence;
  operation.label = "loss";
  return comm::header_of(operation);
}

TEST_CASE("headers describe themselves") {
  CHECK(comm::describe(header_at(3)) == "allreduce #3 'loss' (float32 x 4, mean)");
}

}  // namespace
