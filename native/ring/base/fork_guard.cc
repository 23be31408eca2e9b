#include "ring/base/fork_guard.h"

#include <fcntl.h>    // for open
#include <pthread.h>  // for pthread_atfork

#include <atomic>  // for atomic
#include <mutex>   // for mutex
#include <set>     // for set

namespace ring {
namespace {

struct Registry {
  std::mutex mutex;
  std::set<int> descriptors;
  std::atomic<unsigned> forks{0};
};

Registry& registry();

// In the child: only calls that are safe there, and no memory is taken.
void forget_in_child() {
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int descriptor : registry().descriptors) {
    if (nowhere >= 0) {
      ::dup3(nowhere, descriptor, O_CLOEXEC);
    } else {
      ::close(descriptor);
    }
  }
  if (nowhere >= 0) ::close(nowhere);
  registry().forks.fetch_add(1, std::memory_order_relaxed);
  registry().mutex.unlock();
}

Registry& registry() {
  static Registry& all = *[] {
    auto* made = new Registry;  // never deleted: descriptors may outlive any order of exit
    ::pthread_atfork([] { registry().mutex.lock(); }, [] { registry().mutex.unlock(); }, forget_in_child);
    return made;
  }();
  return all;
}

}  // namespace

unsigned forks() noexcept {
  return registry().forks.load(std::memory_order_relaxed);
}

GuardedFd::GuardedFd(UniqueFd fd) : fd_(fd.release()) {
  if (fd_ < 0) return;
  const std::lock_guard lock(registry().mutex);
  registry().descriptors.insert(fd_);
}

void GuardedFd::reset() noexcept {
  if (fd_ < 0) return;
  {
    const std::lock_guard lock(registry().mutex);
    registry().descriptors.erase(fd_);
    ::close(fd_);  // under the lock, so that no fork comes between and takes a new owner of the number for us
  }
  fd_ = -1;
}

}  // namespace ring
