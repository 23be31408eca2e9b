#include "ring/nccl/dynamic.h"

#include <dlfcn.h>  // for dlopen, dlsym, dlerror
#include <link.h>   // for link_map

#include <mutex>    // for lock_guard, mutex
#include <utility>  // for move

namespace ring::nccl {
namespace {

constexpr int kFlags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;

struct Place {
  std::string file;
  const char* how;
  int flags;
};

std::vector<Place> places_of(const Dynamic::Search& search) {
  if (!search.path.empty()) return {{search.path, "setting", kFlags}};
  std::vector<Place> places{{search.soname, "loaded already", kFlags | RTLD_NOLOAD}};
  if (!search.folder.empty()) places.push_back({search.folder + "/" + search.soname, "package", kFlags});
  places.push_back({search.soname, "system", kFlags});
  return places;
}

// The loader's lists belong to the process, and what one thread reads of them another one may be writing in
// dlopen: its own lock is not held for what dlinfo gives out.
std::mutex& loader() {
  static std::mutex mutex;
  return mutex;
}

std::string file_of(void* handle) {
  const struct link_map* map = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr || map->l_name == nullptr) return {};
  return map->l_name;
}

}  // namespace

Dynamic::Dynamic(void* handle, std::string how)
    : handle_(handle), path_(file_of(handle)), how_(std::move(how)) {}

Result<Dynamic> Dynamic::open(const Search& search) {
  const std::lock_guard lock(loader());
  std::string told;
  for (const auto& place : places_of(search)) {
    void* handle = ::dlopen(place.file.c_str(), place.flags);
    if (handle != nullptr) return Dynamic(handle, place.how);
    const char* error = ::dlerror();
    if ((place.flags & RTLD_NOLOAD) != 0) continue;  // says nothing worth reading
    told += std::string(told.empty() ? "" : "; ") + place.how + ": " + (error ? error : place.file);
  }
  return Status(Code::kInvalidArgument, told);
}

void* Dynamic::find(const char* symbol) const noexcept {
  return ::dlsym(handle_, symbol);
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace ring::nccl
