#include "ring/nccl/collectives.h"

#include <cmath>    // for isfinite
#include <cstring>  // for memcpy

#include "ring/kernel/half.h"
#include "ring/plan/parts.h"

namespace ring::nccl {
namespace {

using backend::Reduction;

// Outcomes of several calls in one NCCL group: the first that is bad.
class Tally {
 public:
  void add(Outcome outcome) {
    if (worst_ == kSuccess || worst_ == kInProgress) worst_ = outcome == kSuccess ? worst_ : outcome;
  }
  [[nodiscard]] bool good() const { return worst_ == kSuccess || worst_ == kInProgress; }
  [[nodiscard]] Outcome worst() const { return worst_; }

 private:
  Outcome worst_ = kSuccess;
};

// `factor` in the element type, for NCCL to read while it makes the operation.
struct Scalar {
  alignas(8) unsigned char bytes[8] = {};
  bool holds = false;  // neither lost to zero nor to infinity
};

template <typename T>
Scalar scalar_of(T value, double widened, double wanted) {
  Scalar scalar;
  std::memcpy(scalar.bytes, &value, sizeof value);
  scalar.holds = std::isfinite(widened) && (widened != 0 || wanted == 0);
  return scalar;
}

Scalar scalar(double factor, DType dtype) {
  const auto single = static_cast<float>(factor);
  switch (dtype) {
    case DType::kFloat16: {
      const auto half = kernel::narrow_to_float16(single);
      return scalar_of(half.bits, static_cast<double>(kernel::widen(half)), factor);
    }
    case DType::kBFloat16: {
      const auto half = kernel::narrow_to_bfloat16(single);
      return scalar_of(half.bits, static_cast<double>(kernel::widen(half)), factor);
    }
    case DType::kFloat32:
      return scalar_of(single, static_cast<double>(single), factor);
    case DType::kFloat64:
      return scalar_of(factor, factor, factor);
    default:
      return {};
  }
}

bool scales(ReduceOp op) {
  return op == ReduceOp::kSum || op == ReduceOp::kMean;
}

RedOp plain(ReduceOp op) {
  switch (op) {
    case ReduceOp::kMin:
      return kMin;
    case ReduceOp::kMax:
      return kMax;
    case ReduceOp::kProduct:
      return kProd;
    case ReduceOp::kSum:
    case ReduceOp::kMean:
      break;
  }
  return kSum;
}

// The operation of one reduction: built in, or made for its factor and given back after the launch.
class Operator {
 public:
  Operator(Group& group, const Reduction& what) : group_(group), op_(plain(what.op)) {
    const double factor = factor_of(what, group.place().size);
    if (factor == 1) return;
    Scalar value = scalar(factor, what.dtype);
    const auto type = *reducible_as(what.dtype, what.op);
    status_ = group_.call("ncclRedOpCreatePreMulSum", [&](const Api& api, Comm comm) {
      return api.create_pre_mul_sum(&op_, value.bytes, type, kScalarHostImmediate, comm);
    });
    made_ = status_.is_ok();
  }
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;
  ~Operator() {
    if (!made_) return;
    static_cast<void>(group_.call("ncclRedOpDestroy",
                                  [this](const Api& api, Comm comm) { return api.destroy_op(op_, comm); }));
  }
  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] RedOp get() const { return op_; }

 private:
  Group& group_;
  RedOp op_;
  bool made_ = false;
  Status status_;
};

bool even(const Counts& counts) {
  for (const auto count : counts) {
    if (count != counts[0]) return false;
  }
  return true;
}

}  // namespace

std::optional<DataType> reducible_as(DType dtype, ReduceOp op) {
  // NCCL's mean of integers wraps where the sum does not fit.
  const auto integer = [op](DataType type) {
    return op == ReduceOp::kMean ? std::nullopt : std::optional(type);
  };
  switch (dtype) {
    case DType::kFloat16:
      return kFloat16;
    case DType::kBFloat16:
      return kBfloat16;
    case DType::kFloat32:
      return kFloat32;
    case DType::kFloat64:
      return kFloat64;
    case DType::kInt8:
      return integer(kInt8);
    case DType::kUint8:
      return integer(kUint8);
    case DType::kInt32:
      return integer(kInt32);
    case DType::kUint32:
      return integer(kUint32);
    case DType::kInt64:
      return integer(kInt64);
    case DType::kUint64:
      return integer(kUint64);
    default:
      return std::nullopt;
  }
}

double factor_of(const Reduction& what, int size) {
  const double scale = what.prescale * what.postscale;
  return what.op == ReduceOp::kMean ? scale / size : scale;
}

Status check_factor(const Reduction& what, int size) {
  const double factor = factor_of(what, size);
  if (factor == 1) return Status::ok();
  const std::string text = std::to_string(factor);
  if (!scales(what.op)) {
    return {Code::kInvalidArgument,
            std::string(name_of(what.op)) + " on a device takes no scale, only sum and mean do"};
  }
  if (scalar(factor, what.dtype).holds) return Status::ok();
  return {Code::kInvalidArgument, std::string(name_of(what.dtype)) + " cannot hold the factor " + text +
                                      " by which each value is multiplied before it is summed"};
}

Group::Fault allreduce(Group& group, const std::vector<Reduction>& what, const Counts& counts,
                       const Launch& launch) {
  std::vector<std::unique_ptr<Operator>> operators;
  for (const auto& one : what) {
    operators.push_back(std::make_unique<Operator>(group, one));
    if (!operators.back()->status()) return {operators.back()->status(), false};
  }
  return group.launch(launch.name, launch.deadline, [&](const Api& api, Comm comm) {
    Tally tally;
    for (std::size_t i = 0; i < what.size() && tally.good(); ++i) {
      if (counts[i] == 0) continue;
      const auto type = *reducible_as(what[i].dtype, what[i].op);
      tally.add(api.all_reduce(what[i].send, what[i].recv, counts[i], type, operators[i]->get(), comm,
                               launch.stream));
    }
    return tally.worst();
  });
}

Group::Fault reducescatter(Group& group, const Reduction& what, const Counts& counts, const Launch& launch) {
  const Operator op(group, what);
  if (!op.status()) return {op.status(), false};
  const auto type = *reducible_as(what.dtype, what.op);
  const auto parts = plan::parts_of(counts);
  return group.launch(launch.name, launch.deadline, [&](const Api& api, Comm comm) {
    if (even(counts)) {
      if (counts[0] == 0) return kSuccess;
      return api.reduce_scatter(what.send, what.recv, counts[0], type, op.get(), comm, launch.stream);
    }
    Tally tally;
    for (std::size_t root = 0; root < parts.size() && tally.good(); ++root) {
      if (parts[root].count == 0) continue;
      tally.add(api.reduce(what.send + parts[root].offset * size_of(what.dtype), what.recv, parts[root].count,
                           type, op.get(), static_cast<int>(root), comm, launch.stream));
    }
    return tally.worst();
  });
}

Group::Fault allgather(Group& group, const std::byte* send, std::byte* recv, const Counts& bytes,
                       const Launch& launch) {
  const auto parts = plan::parts_of(bytes);
  return group.launch(launch.name, launch.deadline, [&](const Api& api, Comm comm) {
    if (even(bytes)) {
      if (bytes[0] == 0) return kSuccess;
      return api.all_gather(send, recv, bytes[0], kUint8, comm, launch.stream);
    }
    Tally tally;
    for (std::size_t root = 0; root < parts.size() && tally.good(); ++root) {
      if (parts[root].count == 0) continue;
      // Only the root's `send` is read; the others need an address all the same.
      const bool mine = static_cast<int>(root) == group.place().site.rank;
      std::byte* part = recv + parts[root].offset;
      tally.add(api.broadcast(mine ? send : part, part, parts[root].count, kUint8, static_cast<int>(root),
                              comm, launch.stream));
    }
    return tally.worst();
  });
}

Group::Fault broadcast(Group& group, std::byte* buffer, std::uint64_t bytes, int root, const Launch& launch) {
  return group.launch(launch.name, launch.deadline, [&](const Api& api, Comm comm) {
    if (bytes == 0) return kSuccess;
    return api.broadcast(buffer, buffer, bytes, kUint8, root, comm, launch.stream);
  });
}

Group::Fault alltoall(Group& group, const std::byte* send, const Counts& send_bytes, std::byte* recv,
                      const Counts& recv_bytes, const Launch& launch) {
  const auto sends = plan::parts_of(send_bytes);
  const auto receives = plan::parts_of(recv_bytes);
  return group.launch(launch.name, launch.deadline, [&](const Api& api, Comm comm) {
    Tally tally;
    for (std::size_t peer = 0; peer < sends.size() && tally.good(); ++peer) {
      const int rank = static_cast<int>(peer);
      if (sends[peer].count > 0) {
        tally.add(api.send(send + sends[peer].offset, sends[peer].count, kUint8, rank, comm, launch.stream));
      }
      if (receives[peer].count > 0 && tally.good()) {
        tally.add(
            api.recv(recv + receives[peer].offset, receives[peer].count, kUint8, rank, comm, launch.stream));
      }
    }
    return tally.worst();
  });
}

Group::Fault barrier(Group& group, std::byte* token, const Launch& launch) {
  return group.launch(launch.name, launch.deadline, [&](const Api& api, Comm comm) {
    return api.all_reduce(token, token, 1, kUint8, kMax, comm, launch.stream);
  });
}

}  // namespace ring::nccl
