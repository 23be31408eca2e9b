// What a process holds: descriptors, threads, and mappings of memory that can be shared.
#pragma once

#include <chrono>      // for steady_clock
#include <filesystem>  // for directory_iterator
#include <fstream>     // for ifstream
#include <string>      // for getline, string
#include <thread>      // for yield

namespace ring::testing {

struct Held {
  std::ptrdiff_t descriptors = 0;
  std::ptrdiff_t threads = 0;
  std::ptrdiff_t named = 0;     // entries of /dev/shm
  std::ptrdiff_t mappings = 0;  // of shared memory

  [[nodiscard]] bool fits(const Held& other) const {
    return descriptors <= other.descriptors && threads <= other.threads && named <= other.named &&
           mappings <= other.mappings;
  }
};

inline std::ptrdiff_t count_entries(const char* folder) {
  const std::filesystem::directory_iterator all(folder);
  return std::distance(begin(all), end(all));
}

inline Held held() {
  Held now;
  now.descriptors = count_entries("/proc/self/fd");
  now.threads = count_entries("/proc/self/task");
  now.named = count_entries("/dev/shm");
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const bool shared =
        line.find("memfd:") != std::string::npos || line.find("/dev/shm") != std::string::npos;
    now.mappings += shared ? 1 : 0;
  }
  return now;
}

// Whether no more is held than `before`; a thread that was joined is listed for a moment longer.
inline bool holds_no_more_than(const Held& before) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!held().fits(before) && std::chrono::steady_clock::now() < give_up) std::this_thread::yield();
  return held().fits(before);
}

}  // namespace ring::testing
