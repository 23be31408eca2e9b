// Dynamic: a shared library opened at run time. Never closed again: its threads and static state live on.
// Immutable once open, hence any thread may use it.
#pragma once

#include <string>  // for string
#include <vector>  // for vector

#include "ring/base/status.h"

namespace ring::nccl {

class Dynamic {
 public:
  // Where to look, in this order; the first that opens is taken. An explicit `path` is looked at alone.
  struct Search {
    std::string path;    // a file that a setting names
    std::string soname;  // first what the process has loaded already, at the end the loader's own search
    std::string folder;  // of an installed package
  };
  // kInvalidArgument that lists every place and what the loader said there.
  [[nodiscard]] static Result<Dynamic> open(const Search& search);

  // Null when there is no such symbol.
  [[nodiscard]] void* find(const char* symbol) const noexcept;
  // The file, and which of the places it came from: "loaded already", "package", "system", "setting".
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] const std::string& how() const noexcept { return how_; }

  // Fills one field of a function table; the names that are missing are appended.
  template <typename Function>
  void bind(Function& field, const char* symbol, std::vector<std::string>& missing) const {
    field = reinterpret_cast<Function>(find(symbol));
    if (field == nullptr) missing.emplace_back(symbol);
  }

 private:
  Dynamic(void* handle, std::string how);
  void* handle_;
  std::string path_;
  std::string how_;
};

// "a, b, c"
[[nodiscard]] std::string joined(const std::vector<std::string>& names);

}  // namespace ring::nccl
