// The futex calls on words in memory that processes share. Any thread.
#pragma once

#include <linux/futex.h>  // for FUTEX_WAIT, FUTEX_WAKE
#include <sys/syscall.h>  // for SYS_futex
#include <time.h>         // for timespec
#include <unistd.h>       // for syscall

#include <atomic>   // for atomic
#include <climits>  // for INT_MAX
#include <cstdint>  // for uint32_t

namespace ring::shm {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

// Sleeps while `word` is `value`, at most `milliseconds`. May return for no reason.
inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t value, int milliseconds) noexcept {
  const timespec patience{milliseconds / 1000, (milliseconds % 1000) * 1000000L};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, value, &patience, nullptr, 0);
}

inline void futex_wake_all(std::atomic<std::uint32_t>& word) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace ring::shm
