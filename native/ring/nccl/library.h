// Library: NCCL, opened at run time, as a table of functions. Immutable once open, hence any thread may use
// it.
#pragma once

#include <memory>   // for shared_ptr
#include <string>   // for string
#include <utility>  // for move
#include <vector>   // for vector

#include "ring/base/status.h"
#include "ring/nccl/abi.h"
#include "ring/nccl/dynamic.h"

namespace ring::nccl {

class Library {
 public:
  // `path`: a file that a setting names; `folder`: that of the nvidia.nccl package, where there is one.
  // Fails, saying what to do, when there is none, when it is older than 2.18 or lacks a function.
  [[nodiscard]] static Result<std::shared_ptr<const Library>> open(const std::string& path,
                                                                   const std::string& folder);

  [[nodiscard]] const Api& api() const noexcept { return api_; }
  [[nodiscard]] int version() const noexcept { return version_; }
  // "NCCL 2.32.3 (loaded already: /opt/.../libnccl.so.2)"
  [[nodiscard]] std::string describe() const;
  // Functions that this version does not have and that are done without.
  [[nodiscard]] const std::vector<std::string>& missing() const noexcept { return missing_; }

 private:
  explicit Library(Dynamic file) : file_(std::move(file)) {}
  [[nodiscard]] Status bind();

  Dynamic file_;
  Api api_;
  int version_ = 0;
  std::vector<std::string> missing_;
};

// "2.32.3"
[[nodiscard]] std::string version_text(int code);

}  // namespace ring::nccl
