#include "ring/nccl/library.h"

namespace ring::nccl {
namespace {

constexpr const char* kSoname = "libnccl.so.2";
constexpr const char* kAdvice =
    "; install nvidia-nccl-cu12 or nvidia-nccl-cu13 (as your CUDA driver asks), or name a file by "
    "comm.nccl_path";

}  // namespace

std::string version_text(int code) {
  const int major = code < 10000 ? code / 1000 : code / 10000;
  const int minor = code < 10000 ? code / 100 % 10 : code / 100 % 100;
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(code % 100);
}

Result<std::shared_ptr<const Library>> Library::open(const std::string& path, const std::string& folder) {
  auto file = Dynamic::open({path, kSoname, folder});
  if (!file) {
    return Status(Code::kInvalidArgument,
                  "NCCL cannot be opened (" + file.status().message() + ")" + kAdvice);
  }
  std::shared_ptr<Library> library(new Library(std::move(file).value()));
  RING_TRY(library->bind());
  return std::shared_ptr<const Library>(std::move(library));
}

Status Library::bind() {
  std::vector<std::string> lacking;
#define RING_NCCL_REQUIRED(field, symbol, result, parameters) file_.bind(api_.field, #symbol, lacking);
#define RING_NCCL_OPTIONAL(field, symbol, result, parameters) file_.bind(api_.field, #symbol, missing_);
  RING_NCCL_FUNCTIONS(RING_NCCL_REQUIRED, RING_NCCL_OPTIONAL)
#undef RING_NCCL_REQUIRED
#undef RING_NCCL_OPTIONAL
  if (api_.get_version == nullptr) {
    return {Code::kInvalidArgument, file_.path() + " is no NCCL: it has no ncclGetVersion"};
  }
  if (api_.get_version(&version_) != kSuccess) {
    return {Code::kInvalidArgument, file_.path() + ": ncclGetVersion failed"};
  }
  if (version_ < kOldestVersion) {
    return {Code::kInvalidArgument,
            describe() + " is too old: " + version_text(kOldestVersion) + " or newer is needed" + kAdvice};
  }
  if (lacking.empty()) return Status::ok();
  return {Code::kInvalidArgument, describe() + " lacks " + joined(lacking) + kAdvice};
}

std::string Library::describe() const {
  return "NCCL " + version_text(version_) + " (" + file_.how() + ": " + file_.path() + ")";
}

}  // namespace ring::nccl
