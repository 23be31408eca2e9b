// Every collective twice: `name` submits and returns a Work, `run_name` blocks.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>  // for vector

#include <algorithm>    // for max
#include <chrono>       // for steady_clock
#include <cstdint>      // for uintptr_t
#include <string>       // for string, to_string
#include <string_view>  // for string_view
#include <tuple>        // for tuple
#include <utility>      // for forward, move
#include <vector>       // for vector

#include "bind.h"
#include "codes.h"
#include "raise.h"
#include "ring/comm/communicator.h"
#include "signals.h"
#include "work.h"

namespace ring::python {
namespace {

namespace py = pybind11;
using backend::Counts;
using comm::Communicator;
using comm::Operation;

constexpr int kSameType = -1;

const std::byte* readable(std::uintptr_t address) {
  return reinterpret_cast<const std::byte*>(address);
}
std::byte* writable(std::uintptr_t address) {
  return reinterpret_cast<std::byte*>(address);
}

// How values are changed on their way; the last arguments of all reductions.
struct Change {
  double prescale;
  double postscale;
  int wire;
  std::uintptr_t residual;
};

backend::Reduction reduction_of(std::uintptr_t send, std::uintptr_t recv, int dtype, int op, Change change) {
  backend::Reduction what{readable(send), writable(recv), dtype_from(dtype), op_from(op)};
  what.prescale = change.prescale;
  what.postscale = change.postscale;
  if (change.wire != kSameType) what.wire = dtype_from(change.wire);
  what.residual = reinterpret_cast<float*>(change.residual);
  return what;
}

Operation allreduce(std::uintptr_t send, std::uintptr_t recv, std::uint64_t count, int dtype, int op,
                    double timeout_s, std::string_view label, double prescale, double postscale, int wire,
                    std::uintptr_t residual) {
  const auto what = reduction_of(send, recv, dtype, op, {prescale, postscale, wire, residual});
  return comm::allreduce_of(what, count, {timeout_s, label});
}

Operation reducescatter(std::uintptr_t send, std::uintptr_t recv, Counts counts, int dtype, int op,
                        double timeout_s, std::string_view label, double prescale, double postscale, int wire,
                        std::uintptr_t residual) {
  const auto what = reduction_of(send, recv, dtype, op, {prescale, postscale, wire, residual});
  return comm::reducescatter_of(what, std::move(counts), {timeout_s, label});
}

using MemberCodes = std::tuple<std::uintptr_t, std::uintptr_t, std::uint64_t, int>;

Operation grouped_allreduce(const std::vector<MemberCodes>& codes, int op, double timeout_s,
                            std::string_view label, double prescale, double postscale) {
  std::vector<comm::Member> members;
  members.reserve(codes.size());
  for (const auto& [send, recv, count, dtype] : codes) {
    members.push_back({readable(send), writable(recv), count, dtype_from(dtype)});
  }
  auto operation = comm::grouped_allreduce_of(std::move(members), op_from(op), {timeout_s, label});
  operation.prescale = prescale;
  operation.postscale = postscale;
  return operation;
}

Operation allgather(std::uintptr_t send, std::uintptr_t recv, Counts counts, int dtype, double timeout_s,
                    std::string_view label) {
  return comm::allgather_of(readable(send), writable(recv), std::move(counts), dtype_from(dtype),
                            {timeout_s, label});
}

Operation broadcast(std::uintptr_t buffer, std::uint64_t count, int dtype, int root, double timeout_s,
                    std::string_view label) {
  return comm::broadcast_of(writable(buffer), count, dtype_from(dtype), root, {timeout_s, label});
}

Operation alltoall(std::uintptr_t send, Counts send_counts, std::uintptr_t recv, Counts recv_counts,
                   int dtype, double timeout_s, std::string_view label) {
  return comm::alltoall_of(readable(send), std::move(send_counts), writable(recv), std::move(recv_counts),
                           dtype_from(dtype), {timeout_s, label});
}

Operation barrier(double timeout_s, std::string_view label) {
  return comm::barrier_of({timeout_s, label});
}

Work submit(Communicator& self, Operation operation) {
  return {value_or_raise(self.submit(std::move(operation))), self};
}

void run(Communicator& self, Operation operation) {
  const comm::Engine::Check give_up = SignalCheck{};
  Status status;
  {
    const py::gil_scoped_release release;
    status = self.run(std::move(operation), &give_up);
  }
  raise_if_interrupted();
  raise_if_failed(status);
}

// Seconds of one of `times` allreduces in a row, with no Python between them: what a C++ program would see.
double time_allreduce(Communicator& self, std::uintptr_t send, std::uintptr_t recv, std::uint64_t count,
                      int dtype, int op, double timeout_s, std::string_view label, int times) {
  using Clock = std::chrono::steady_clock;
  const auto operation = comm::allreduce_of({readable(send), writable(recv), dtype_from(dtype), op_from(op)},
                                            count, {timeout_s, label});
  const comm::Engine::Check give_up = SignalCheck{};
  Status status;
  const auto begin = Clock::now();
  {
    const py::gil_scoped_release release;
    for (int i = 0; i < times && status; ++i) status = self.run(operation, &give_up);
  }
  const std::chrono::duration<double> seconds = Clock::now() - begin;
  raise_if_interrupted();
  raise_if_failed(status);
  return seconds.count() / std::max(times, 1);
}

template <typename... Args, typename... Names>
void def_both(py::class_<Communicator>& type, const std::string& name, Operation (*build)(Args...),
              const Names&... names) {
  type.def(
      name.c_str(),
      [build](Communicator& self, Args... args) { return submit(self, build(std::forward<Args>(args)...)); },
      names...);
  type.def(("run_" + name).c_str(),
           [build](Communicator& self, Args... args) { run(self, build(std::forward<Args>(args)...)); },
           names...);
}

}  // namespace

void bind_collectives(py::class_<Communicator>& type) {
  const auto label = py::arg("label") = "";
  const auto prescale = py::arg("prescale") = 1.0;
  const auto postscale = py::arg("postscale") = 1.0;
  const auto wire = py::arg("wire") = kSameType;
  const auto residual = py::arg("residual") = 0;
  const auto send = py::arg("send");
  const auto recv = py::arg("recv");
  const auto counts = py::arg("counts");
  const auto dtype = py::arg("dtype");
  const auto op = py::arg("op");
  const auto timeout = py::arg("timeout_s");
  def_both(type, "allreduce", &allreduce, send, recv, py::arg("count"), dtype, op, timeout, label, prescale,
           postscale, wire, residual);
  type.def("time_allreduce", &time_allreduce, send, recv, py::arg("count"), dtype, op, timeout, label,
           py::arg("times") = 1);
  def_both(type, "reducescatter", &reducescatter, send, recv, counts, dtype, op, timeout, label, prescale,
           postscale, wire, residual);
  def_both(type, "grouped_allreduce", &grouped_allreduce, py::arg("members"), op, timeout, label, prescale,
           postscale);
  def_both(type, "allgather", &allgather, send, recv, counts, dtype, timeout, label);
  def_both(type, "broadcast", &broadcast, py::arg("buffer"), py::arg("count"), dtype, py::arg("root"),
           timeout, label);
  def_both(type, "alltoall", &alltoall, send, py::arg("send_counts"), recv, py::arg("recv_counts"), dtype,
           timeout, label);
  def_both(type, "barrier", &barrier, timeout, label);
}

}  // namespace ring::python
