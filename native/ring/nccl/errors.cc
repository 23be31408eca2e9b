#include "ring/nccl/errors.h"

namespace ring::nccl {
namespace {

struct Meaning {
  Code code;
  const char* advice;
};

Meaning meaning_of(Outcome outcome) {
  switch (outcome) {
    case kUnhandledCudaError:
      return {Code::kSystem,
              "look at the CUDA error above: often an old driver, no memory left, or a failed kernel"};
    case kSystemError:
      return {
          Code::kSystem,
          "a system call failed: check that ranks reach each other (NCCL_SOCKET_IFNAME names the interface), "
          "the size of /dev/shm, and limits of open files and locked memory; NCCL_DEBUG=INFO tells more"};
    case kInternalError:
      return {Code::kInternal, "NCCL_DEBUG=INFO tells more; a newer NCCL may help"};
    case kInvalidArgument:
      return {Code::kInvalidArgument, "NCCL refused an argument; NCCL_DEBUG=WARN says which"};
    case kInvalidUsage:
      return {Code::kInvalidArgument,
              "two ranks on one GPU need NCCL_MULTI_RANK_GPU_ENABLE=1 (NCCL 2.30 or newer) or "
              "comm.device=staged; "
              "NCCL_DEBUG=WARN tells more"};
    case kRemoteError:
      return {Code::kPeerLost, "another rank ended or lost its network; its own error tells why"};
    case kTimeout:
      return {Code::kCollectiveTimeout, "another rank did not answer in time"};
    case kSuccess:
    case kInProgress:
      break;
  }
  return {Code::kInternal, "this code is unknown here"};
}

}  // namespace

Status failure_of(const Library& library, Comm comm, Outcome outcome, const std::string& what,
                  const Site& site) {
  if (outcome == kSuccess) return Status::ok();
  const Meaning meaning = meaning_of(outcome);
  const char* text = library.api().get_error_string(outcome);
  const char* last = library.api().get_last_error(comm);
  std::string message = what + " failed on rank " + std::to_string(site.rank);
  if (!site.host.empty()) message += " on " + site.host;
  message +=
      ", " + site.device + ": " + (text ? text : "no text") + " (NCCL code " + std::to_string(outcome) + ")";
  if (last != nullptr && *last != '\0') message += ", last error: " + std::string(last);
  return {meaning.code, message + "; " + meaning.advice, outcome == kRemoteError ? -1 : site.rank,
          outcome == kRemoteError ? std::string() : site.host};
}

bool is_echo(Outcome outcome) noexcept {
  return outcome == kRemoteError || outcome == kSystemError || outcome == kTimeout;
}

}  // namespace ring::nccl
