// GuardedFd: a descriptor that a forked child loses at once. Otherwise a process that dies while children
// that it forked live on would keep its connections open through them, and no peer would notice its death. In
// the child the number stays taken (it then leads to /dev/null), so that closing it there harms nothing.
// Thread-safety: as UniqueFd; the registry of all of them, one for each process, is guarded.
#pragma once

#include <utility>  // for exchange

#include "ring/base/unique_fd.h"

namespace ring {

// How many forks lie between this process and the one that first asked. Costs no system call; a child that
// was made around the C library (a raw clone) is not told apart.
[[nodiscard]] unsigned forks() noexcept;

class GuardedFd {
 public:
  GuardedFd() = default;
  explicit GuardedFd(UniqueFd fd);
  GuardedFd(GuardedFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  GuardedFd& operator=(GuardedFd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  GuardedFd(const GuardedFd&) = delete;
  GuardedFd& operator=(const GuardedFd&) = delete;
  ~GuardedFd() { reset(); }

  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] bool valid() const noexcept { return fd_ >= 0; }
  void reset() noexcept;

 private:
  int fd_ = -1;
};

}  // namespace ring
