#include <pybind11/pybind11.h>
#include <pybind11/stl.h>  // for optional, vector

#include <algorithm>  // for min
#include <chrono>     // for steady_clock
#include <cstdint>    // for uintptr_t
#include <memory>     // for shared_ptr
#include <optional>   // for optional
#include <string>     // for string, to_string
#include <thread>     // for sleep_for
#include <tuple>      // for tuple
#include <utility>    // for move
#include <vector>     // for vector

#include "bind.h"
#include "raise.h"
#include "ring/comm/device_communicator.h"
#include "signals.h"

namespace ring::python {
namespace {

namespace py = pybind11;
using comm::DeviceCommunicator;
using comm::Operation;
using Clock = std::chrono::steady_clock;
using DevicePtr = std::shared_ptr<DeviceCommunicator>;

constexpr double kSliceSeconds = 0.1;  // how soon Ctrl-C is seen
constexpr std::chrono::microseconds kPause{50};

std::byte* at(std::uintptr_t address) {
  return reinterpret_cast<std::byte*>(address);
}
nccl::StreamHandle stream_at(std::uintptr_t address) {
  return reinterpret_cast<nccl::StreamHandle>(address);
}

template <typename Enum>
Enum from_code(int code, int end, const char* what) {
  if (code < 0 || code >= end) {
    raise({Code::kInvalidArgument, std::string("unknown ") + what + " code " + std::to_string(code)});
  }
  return static_cast<Enum>(code);
}
DType dtype_from(int code) {
  return from_code<DType>(code, kNumDTypes, "dtype");
}
ReduceOp op_from(int code) {
  return from_code<ReduceOp>(code, kNumReduceOps, "op");
}

// Keeps the communicator: its stream carries the work.
struct Work {
  nccl::DeviceWorkPtr state;
  DevicePtr communicator;
};

Work submit(const DevicePtr& self, Operation operation, std::uintptr_t stream) {
  auto submitted = [&] {
    const py::gil_scoped_release release;
    return self->submit(std::move(operation), stream_at(stream));
  }();
  return {value_or_raise(std::move(submitted)), self};
}

DevicePtr connect(const comm::Communicator& host, int device, const std::string& mode, double timeout_s,
                  std::string nccl_path, std::string nccl_folder, std::string cuda_path, bool may_share,
                  bool checked) {
  comm::DeviceOptions options;
  options.device = device;
  options.mode = mode;
  options.timeout_s = timeout_s;
  options.nccl_path = std::move(nccl_path);
  options.nccl_folder = std::move(nccl_folder);
  options.cuda_path = std::move(cuda_path);
  options.may_share = may_share;
  options.checked = checked;
  const comm::Engine::Check give_up = SignalCheck{};
  auto connected = [&] {
    const py::gil_scoped_release release;
    return DeviceCommunicator::connect(host, options, &give_up);
  }();
  raise_if_interrupted();
  return value_or_raise(std::move(connected));
}

Work allreduce(const DevicePtr& self, std::uintptr_t send, std::uintptr_t recv, std::uint64_t count,
               int dtype, int op, std::uintptr_t stream, double timeout_s, const std::string& label,
               double prescale, double postscale) {
  const backend::Reduction what{at(send), at(recv), dtype_from(dtype), op_from(op), prescale, postscale};
  return submit(self, comm::allreduce_of(what, count, {timeout_s, label}), stream);
}

Work grouped_allreduce(
    const DevicePtr& self,
    const std::vector<std::tuple<std::uintptr_t, std::uintptr_t, std::uint64_t, int>>& given, int op,
    std::uintptr_t stream, double timeout_s, const std::string& label, double prescale, double postscale) {
  std::vector<comm::Member> members;
  for (const auto& [send, recv, count, dtype] : given)
    members.push_back({at(send), at(recv), count, dtype_from(dtype)});
  auto operation = comm::grouped_allreduce_of(std::move(members), op_from(op), {timeout_s, label});
  operation.prescale = prescale;
  operation.postscale = postscale;
  return submit(self, std::move(operation), stream);
}

Work reducescatter(const DevicePtr& self, std::uintptr_t send, std::uintptr_t recv, backend::Counts counts,
                   int dtype, int op, std::uintptr_t stream, double timeout_s, const std::string& label,
                   double prescale, double postscale) {
  const backend::Reduction what{at(send), at(recv), dtype_from(dtype), op_from(op), prescale, postscale};
  return submit(self, comm::reducescatter_of(what, std::move(counts), {timeout_s, label}), stream);
}

Work allgather(const DevicePtr& self, std::uintptr_t send, std::uintptr_t recv, backend::Counts counts,
               int dtype, std::uintptr_t stream, double timeout_s, const std::string& label) {
  return submit(
      self, comm::allgather_of(at(send), at(recv), std::move(counts), dtype_from(dtype), {timeout_s, label}),
      stream);
}

Work broadcast(const DevicePtr& self, std::uintptr_t buffer, std::uint64_t count, int dtype, int root,
               std::uintptr_t stream, double timeout_s, const std::string& label) {
  return submit(self, comm::broadcast_of(at(buffer), count, dtype_from(dtype), root, {timeout_s, label}),
                stream);
}

Work alltoall(const DevicePtr& self, std::uintptr_t send, backend::Counts send_counts, std::uintptr_t recv,
              backend::Counts recv_counts, int dtype, std::uintptr_t stream, double timeout_s,
              const std::string& label) {
  return submit(self,
                comm::alltoall_of(at(send), std::move(send_counts), at(recv), std::move(recv_counts),
                                  dtype_from(dtype), {timeout_s, label}),
                stream);
}

Work barrier(const DevicePtr& self, std::uintptr_t stream, double timeout_s, const std::string& label) {
  return submit(self, comm::barrier_of({timeout_s, label}), stream);
}

// Asks `reached` in slices of time until it is true; Ctrl-C is seen in between.
template <typename Reached>
void wait_until(const Work& work, std::optional<double> timeout_s, const Reached& reached) {
  const auto start = Clock::now();
  while (true) {
    const double spent = std::chrono::duration<double>(Clock::now() - start).count();
    const double left = timeout_s ? *timeout_s - spent : kSliceSeconds;
    const bool done = [&] {
      const py::gil_scoped_release release;
      return reached(std::min(std::max(left, 0.0), kSliceSeconds));
    }();
    if (done) return;
    raise_pending_signals();
    if (work.communicator->host().is_forked()) {
      raise({Code::kAborted, "this work was submitted before fork; it is done in the parent only"});
    }
    if (timeout_s && left <= kSliceSeconds)
      raise_timeout("the collective is still running; wait again, or abort");
  }
}

void order(const Work& work, std::uintptr_t stream, std::optional<double> timeout_s) {
  wait_until(work, timeout_s, [&](double seconds) { return work.state->launched_for(seconds); });
  raise_if_failed(work.state->order(stream_at(stream)));
}

void synchronize(const Work& work, std::optional<double> timeout_s) {
  wait_until(work, timeout_s, [&](double seconds) {
    const auto patience = Deadline::after(seconds);
    while (!work.state->done()) {
      if (patience.passed()) return false;
      std::this_thread::sleep_for(kPause);
    }
    return true;
  });
  raise_if_failed(work.state->status());
}

int device_of(std::uintptr_t address, const std::string& cuda_path) {
  const auto driver = value_or_raise(nccl::Driver::open(cuda_path));
  return driver->device_of(address);
}

std::uint64_t register_buffer(const DevicePtr& self, std::uintptr_t address, std::uint64_t bytes) {
  return value_or_raise(self->register_buffer(at(address), bytes));
}

std::optional<DevicePtr> split(const DevicePtr& self, int color, comm::Communicator* child,
                               double timeout_s) {
  const comm::Engine::Check give_up = SignalCheck{};
  auto made = [&] {
    const py::gil_scoped_release release;
    return self->split(color, child, timeout_s, &give_up);
  }();
  raise_if_interrupted();
  auto value = value_or_raise(std::move(made));
  if (!value) return std::nullopt;
  return value;
}

void close(const DevicePtr& self, double timeout_s) {
  const Status status = [&] {
    const py::gil_scoped_release release;
    return self->close(timeout_s);
  }();
  raise_if_failed(status);
}

void def_reductions(py::class_<DeviceCommunicator, DevicePtr>& type) {
  type.def("allreduce", &allreduce, py::arg("send"), py::arg("recv"), py::arg("count"), py::arg("dtype"),
           py::arg("op"), py::arg("stream"), py::arg("timeout_s"), py::arg("label") = "",
           py::arg("prescale") = 1.0, py::arg("postscale") = 1.0)
      .def("grouped_allreduce", &grouped_allreduce, py::arg("members"), py::arg("op"), py::arg("stream"),
           py::arg("timeout_s"), py::arg("label") = "", py::arg("prescale") = 1.0, py::arg("postscale") = 1.0)
      .def("reducescatter", &reducescatter, py::arg("send"), py::arg("recv"), py::arg("counts"),
           py::arg("dtype"), py::arg("op"), py::arg("stream"), py::arg("timeout_s"), py::arg("label") = "",
           py::arg("prescale") = 1.0, py::arg("postscale") = 1.0);
}

void def_moves(py::class_<DeviceCommunicator, DevicePtr>& type) {
  type.def("allgather", &allgather, py::arg("send"), py::arg("recv"), py::arg("counts"), py::arg("dtype"),
           py::arg("stream"), py::arg("timeout_s"), py::arg("label") = "")
      .def("broadcast", &broadcast, py::arg("buffer"), py::arg("count"), py::arg("dtype"), py::arg("root"),
           py::arg("stream"), py::arg("timeout_s"), py::arg("label") = "")
      .def("alltoall", &alltoall, py::arg("send"), py::arg("send_counts"), py::arg("recv"),
           py::arg("recv_counts"), py::arg("dtype"), py::arg("stream"), py::arg("timeout_s"),
           py::arg("label") = "")
      .def("barrier", &barrier, py::arg("stream"), py::arg("timeout_s"), py::arg("label") = "");
}

}  // namespace

void bind_device(py::module_& module) {
  py::class_<Work>(module, "DeviceWork", "One submitted collective on device memory.")
      .def("order", &order, py::arg("stream"), py::arg("timeout_s") = py::none())
      .def("synchronize", &synchronize, py::arg("timeout_s") = py::none())
      .def(
          "done", [](const Work& work) { return work.state->done(); },
          py::call_guard<py::gil_scoped_release>());
  py::class_<DeviceCommunicator, DevicePtr> type(
      module, "DeviceCommunicator", "Collectives of one group of ranks on memory of one device each.");
  type.def_static("connect", &connect, py::arg("host"), py::arg("device"), py::arg("mode"),
                  py::arg("timeout_s"), py::arg("nccl_path") = "", py::arg("nccl_folder") = "",
                  py::arg("cuda_path") = "", py::arg("may_share") = false, py::arg("checked") = true)
      .def_property_readonly("rank", &DeviceCommunicator::rank)
      .def_property_readonly("size", &DeviceCommunicator::size)
      .def_property_readonly("is_staged", &DeviceCommunicator::is_staged)
      .def_property_readonly("reason", &DeviceCommunicator::reason)
      .def_property_readonly("device", &DeviceCommunicator::device)
      .def("register_buffer", &register_buffer, py::arg("address"), py::arg("bytes"))
      .def(
          "deregister_buffer",
          [](const DevicePtr& self, std::uint64_t handle) {
            raise_if_failed(self->deregister_buffer(handle));
          },
          py::arg("handle"))
      .def("split", &split, py::arg("color"), py::arg("child"), py::arg("timeout_s"))
      .def("close", &close, py::arg("timeout_s"));
  def_reductions(type);
  def_moves(type);
  module.def("device_of", &device_of, py::arg("address"), py::arg("cuda_path") = "",
             "Number of the device whose memory an address is; -1 for none.");
}

}  // namespace ring::python
