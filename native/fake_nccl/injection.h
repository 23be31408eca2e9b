// Failures on request, from the environment: "op:nth:code", several by commas. `nth` counts the calls of that
// op in this process from 1; a fourth field "async" asks for a failure that shows later. Any thread.
#pragma once

#include <cstdlib>  // for getenv, strtol
#include <map>      // for map
#include <mutex>    // for mutex
#include <sstream>  // for istringstream
#include <string>   // for string
#include <vector>   // for vector

namespace fake {

inline std::string setting(const char* name, const char* otherwise = "") {
  const char* value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

inline long number(const char* name, long otherwise) {
  const std::string text = setting(name);
  return text.empty() ? otherwise : std::strtol(text.c_str(), nullptr, 10);
}

inline std::vector<std::string> fields(const std::string& text, char separator) {
  std::vector<std::string> found;
  std::istringstream stream(text);
  for (std::string one; std::getline(stream, one, separator);) found.push_back(one);
  return found;
}

struct Injected {
  int code = 0;  // 0: none
  bool async = false;
};

class Injection {
 public:
  explicit Injection(const char* variable) : variable_(variable) {}

  // Counts one call of `op` and tells how it is to fail.
  Injected next(const std::string& op) {
    const std::lock_guard lock(mutex_);
    const std::string wishes = setting(variable_);
    if (wishes != wishes_) calls_.clear();
    wishes_ = wishes;
    const long call = ++calls_[op];
    for (const auto& wish : fields(wishes, ',')) {
      const auto part = fields(wish, ':');
      if (part.size() < 3 || part[0] != op || std::strtol(part[1].c_str(), nullptr, 10) != call) continue;
      return {static_cast<int>(std::strtol(part[2].c_str(), nullptr, 10)),
              part.size() > 3 && part[3] == "async"};
    }
    return {};
  }

 private:
  const char* variable_;
  std::mutex mutex_;
  std::string wishes_;
  std::map<std::string, long> calls_;
};

}  // namespace fake
