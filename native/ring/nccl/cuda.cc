#include "ring/nccl/cuda.h"

#include "ring/base/fork_guard.h"

namespace ring::nccl {
namespace {

constexpr const char* kSoname = "libcuda.so.1";

struct Advice {
  int code;
  const char* text;
};

// What people can do about the codes they meet.
constexpr Advice kAdvice[] = {
    {2, "the device is out of memory: free some, or use smaller batches or buckets"},
    {3, "CUDA was initialised before this process was forked: start ranks anew (spawn), never by fork"},
    {35, "update the NVIDIA driver"},
    {46, "the device is taken by another process (compute mode) or not ready"},
    {100, "no GPU is visible: look at nvidia-smi and at CUDA_VISIBLE_DEVICES"},
    {101, "CUDA_VISIBLE_DEVICES hides that device; numbers count the visible ones from 0"},
    {201, "the device was reset, or its context destroyed, while in use"},
    {214, "the device has a memory (ECC) error: take this machine out of service"},
    {304, "the operating system refused: look at limits of locked memory and at dmesg"},
    {700, "a kernel wrote outside its memory, maybe one long before: run with CUDA_LAUNCH_BLOCKING=1"},
    {719, "a kernel failed, maybe one long before: run with CUDA_LAUNCH_BLOCKING=1 and look at dmesg"},
    {802, "the fabric manager is not ready: start nvidia-fabricmanager"},
    {803, "the driver library and the kernel module differ: reboot, or match the container's driver"},
};

std::string advice_on(int code) {
  for (const auto& advice : kAdvice) {
    if (advice.code == code) return std::string("; ") + advice.text;
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<const Driver>> Driver::open(const std::string& path) {
  auto file = Dynamic::open({path, kSoname, {}});
  if (!file) {
    return Status(Code::kInvalidArgument, "the CUDA driver cannot be opened (" + file.status().message() +
                                              "); this host has no NVIDIA driver, or hides it");
  }
  std::shared_ptr<Driver> driver(new Driver(std::move(file).value()));
  RING_TRY(driver->bind());
  RING_TRY(driver->start());
  return std::shared_ptr<const Driver>(std::move(driver));
}

Status Driver::bind() {
  std::vector<std::string> lacking;
  std::vector<std::string> done_without;
#define RING_CUDA_REQUIRED(field, symbol, parameters) file_.bind(api_.field, #symbol, lacking);
#define RING_CUDA_OPTIONAL(field, symbol, parameters) file_.bind(api_.field, #symbol, done_without);
  RING_CUDA_FUNCTIONS(RING_CUDA_REQUIRED, RING_CUDA_OPTIONAL)
#undef RING_CUDA_REQUIRED
#undef RING_CUDA_OPTIONAL
  if (lacking.empty()) return Status::ok();
  return {Code::kInvalidArgument,
          path() + " lacks " + joined(lacking) + ": update the NVIDIA driver (CUDA 11.0 or newer is needed)"};
}

Status Driver::start() {
  RING_TRY(check(api_.init(0), "cuInit"));
  RING_TRY(check(api_.driver_version(&version_), "cuDriverGetVersion"));
  return check(api_.device_count(&num_devices_), "cuDeviceGetCount");
}

int Driver::device_of(DevicePointer pointer) const noexcept {
  int ordinal = -1;
  return api_.pointer_attribute(&ordinal, kPointerDeviceOrdinal, pointer) == kCudaSuccess ? ordinal : -1;
}

Status Driver::check(int code, const std::string& what) const {
  if (code == kCudaSuccess) return Status::ok();
  const char* name = nullptr;
  const char* text = nullptr;
  if (api_.error_name(code, &name) != kCudaSuccess || name == nullptr) name = "an unknown code";
  if (api_.error_string(code, &text) != kCudaSuccess || text == nullptr) text = "no text";
  return {Code::kSystem,
          what + " failed: " + name + " (" + std::to_string(code) + "), " + text + advice_on(code)};
}

Result<std::shared_ptr<const Device>> Device::open(std::shared_ptr<const Driver> driver, int ordinal) {
  if (ordinal < 0 || ordinal >= driver->num_devices()) {
    return Status(Code::kInvalidArgument, "there is no cuda:" + std::to_string(ordinal) + ": " +
                                              std::to_string(driver->num_devices()) + " devices are visible" +
                                              advice_on(101));
  }
  std::shared_ptr<Device> device(new Device(std::move(driver), ordinal));
  RING_TRY(device->look());
  return std::shared_ptr<const Device>(std::move(device));
}

Device::Device(std::shared_ptr<const Driver> driver, int ordinal)
    : driver_(std::move(driver)), ordinal_(ordinal), forks_(forks()) {}

bool Device::is_forked() const noexcept {
  return forks() != forks_;
}

Status Device::look() {
  char text[128] = {};
  RING_TRY(check(api().device_get(&handle_, ordinal_), "cuDeviceGet"));
  RING_TRY(check(api().device_name(text, sizeof text, handle_), "cuDeviceGetName"));
  name_ = text;
  RING_TRY(check(api().device_pci(text, sizeof text, handle_), "cuDeviceGetPCIBusId"));
  pci_ = text;
  // The second version tells the parts of a divided device (MIG) apart.
  const auto uuid = api().device_uuid_v2 != nullptr ? api().device_uuid_v2 : api().device_uuid;
  RING_TRY(check(uuid(&uuid_, handle_), "cuDeviceGetUuid"));
  return check(api().retain_context(&context_, handle_), "cuDevicePrimaryCtxRetain");
}

Device::~Device() {
  if (context_ != nullptr && !is_forked()) api().release_context(handle_);
}

Status Device::check(int code, const std::string& what) const {
  if (code == kCudaSuccess) return Status::ok();
  return driver_->check(code, what + " on " + describe());
}

std::string Device::describe() const {
  return "cuda:" + std::to_string(ordinal_) + " (" + name_ + ", " + pci_ + ")";
}

}  // namespace ring::nccl
