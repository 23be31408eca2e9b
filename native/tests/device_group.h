// Ranks as threads, each with a device of the fake machine, through the real dlopen of the fake libraries.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>  // for setenv, unsetenv
#include <memory>   // for shared_ptr
#include <string>   // for string
#include <thread>   // for thread
#include <utility>  // for move
#include <vector>   // for vector

#include "group.h"
#include "ring/comm/device_communicator.h"

namespace ring::testing {

using comm::DeviceCommunicator;
using comm::DeviceOptions;
using DevicePtr = std::shared_ptr<DeviceCommunicator>;

inline std::string fake(const std::string& file) {
  return std::string(RING_FAKE_DIR) + "/" + file;
}
inline std::string fake_cuda() {
  ::setenv("FAKE_CUDA_DEVICES", "8", 1);  // read once, when the library is first used
  return fake("cuda/libcuda.so.1");
}

// Sets a variable of the fakes for a scope. Only while nothing runs on the fake devices.
class Setting {
 public:
  Setting(const char* name, const std::string& value) : name_(name) { ::setenv(name, value.c_str(), 1); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;
  ~Setting() { ::unsetenv(name_); }

 private:
  const char* name_;
};

inline DeviceOptions device_options(int device, const std::string& mode = "auto") {
  DeviceOptions options;
  options.device = device;
  options.mode = mode;
  options.nccl_path = fake("nccl/libnccl.so.2");
  options.cuda_path = fake_cuda();
  options.timeout_s = kPatience;
  return options;
}

// Calls `play` for every rank, each in a thread of its own.
template <typename Play>
void on_threads(int size, const Play& play) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) threads.emplace_back([&play, rank] { play(rank); });
  for (auto& thread : threads) thread.join();
}

struct DeviceGroup {
  Group host;
  std::vector<DevicePtr> ranks;
  std::vector<Status> outcomes;

  ~DeviceGroup() {
    on_threads(static_cast<int>(ranks.size()), [this](int rank) {
      if (auto& mine = ranks[static_cast<std::size_t>(rank)]) static_cast<void>(mine->close(kPatience));
    });
  }
};

// `options` by rank; outcomes tell who did not connect.
inline std::unique_ptr<DeviceGroup> try_device_group(const std::vector<DeviceOptions>& options) {
  const int size = static_cast<int>(options.size());
  auto group = std::make_unique<DeviceGroup>();
  group->host = inproc_group(size);
  group->ranks.resize(options.size());
  group->outcomes.resize(options.size());
  on_threads(size, [&](int rank) {
    const auto place = static_cast<std::size_t>(rank);
    auto connected = DeviceCommunicator::connect(group->host[place], options[place], nullptr);
    group->outcomes[place] = connected.status();
    if (connected) group->ranks[place] = std::move(connected).value();
  });
  return group;
}

inline std::unique_ptr<DeviceGroup> device_group(const std::vector<DeviceOptions>& options) {
  auto group = try_device_group(options);
  REQUIRE(all_ok(group->outcomes));
  return group;
}

inline std::unique_ptr<DeviceGroup> device_group(int size, const std::string& mode = "auto") {
  std::vector<DeviceOptions> options;
  for (int rank = 0; rank < size; ++rank) options.push_back(device_options(rank, mode));
  return device_group(options);
}

// A user's stream on one device, with memory that is filled and read in the order of that stream.
class Bench {
 public:
  explicit Bench(int device) {
    auto driver = nccl::Driver::open(fake_cuda());
    REQUIRE(driver);
    auto opened = nccl::Device::open(driver.value(), device);
    REQUIRE(opened);
    device_ = opened.value();
    auto stream = nccl::make_stream(device_);
    REQUIRE(stream);
    stream_ = std::move(stream).value();
  }
  [[nodiscard]] nccl::StreamHandle stream() const { return stream_.get(); }

  // Device memory for `bytes`, at least one.
  [[nodiscard]] std::byte* allocate(std::size_t bytes) {
    auto memory = nccl::make_memory(device_, bytes > 0 ? bytes : 1);
    REQUIRE(memory);
    memories_.push_back(std::move(memory).value());
    return reinterpret_cast<std::byte*>(memories_.back().get());
  }
  // Queued, not done, when it returns; `from` must live on.
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
    const nccl::Current current(*device_);
    REQUIRE(device_->api().copy(reinterpret_cast<std::uintptr_t>(to), reinterpret_cast<std::uintptr_t>(from),
                                bytes, stream_.get()) == 0);
  }
  // Waits for all that is queued on the stream.
  void drain() {
    auto event = nccl::make_event(device_);
    REQUIRE(event);
    const nccl::Current current(*device_);
    REQUIRE(device_->api().event_record(event.value().get(), stream_.get()) == 0);
    const auto patience = Deadline::after(kPatience);
    while (device_->api().event_query(event.value().get()) == nccl::kCudaNotReady) {
      REQUIRE(!patience.passed());
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }

 private:
  nccl::DevicePtr device_;
  nccl::OwnedStream stream_;
  std::vector<nccl::OwnedMemory> memories_;
};

// What became of a work, once it is done. In any thread.
inline Status device_outcome(const DeviceCommunicator::Submitted& submitted) {
  if (!submitted) return submitted.status();
  const auto patience = Deadline::after(kPatience);
  while (!submitted.value()->done()) {
    if (patience.passed()) return {Code::kInternal, "still not done"};
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return submitted.value()->status();
}

}  // namespace ring::testing
