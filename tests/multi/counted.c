/* Preloaded: counts allocations and system calls made through the C library, by kind. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>

static long counts[3];
enum { ALLOCATIONS, CALLS, WAITS };

long counted(int kind) { return __atomic_load_n(&counts[kind], __ATOMIC_RELAXED); }

static void count(int kind) { __atomic_fetch_add(&counts[kind], 1, __ATOMIC_RELAXED); }

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

void *malloc(size_t n) {
  count(ALLOCATIONS);
  return __libc_malloc(n);
}
void *calloc(size_t n, size_t m) {
  count(ALLOCATIONS);
  return __libc_calloc(n, m);
}
void *realloc(void *p, size_t n) {
  count(ALLOCATIONS);
  return __libc_realloc(p, n);
}
void *aligned_alloc(size_t a, size_t n) {
  count(ALLOCATIONS);
  return __libc_memalign(a, n);
}
int posix_memalign(void **p, size_t a, size_t n) {
  count(ALLOCATIONS);
  *p = __libc_memalign(a, n);
  return *p == NULL;
}

#define NEXT(kind, result, name, parameters, arguments)                        \
  result name parameters {                                                     \
    static result(*next) parameters;                                           \
    if (next == NULL) next = (result(*) parameters)dlsym(RTLD_NEXT, #name);    \
    count(kind);                                                               \
    return next arguments;                                                     \
  }

NEXT(CALLS, ssize_t, send, (int fd, const void *p, size_t n, int f), (fd, p, n, f))
NEXT(CALLS, ssize_t, sendmsg, (int fd, const struct msghdr *m, int f), (fd, m, f))
NEXT(CALLS, ssize_t, recv, (int fd, void *p, size_t n, int f), (fd, p, n, f))
NEXT(CALLS, ssize_t, recvmsg, (int fd, struct msghdr *m, int f), (fd, m, f))
NEXT(CALLS, ssize_t, read, (int fd, void *p, size_t n), (fd, p, n))
NEXT(CALLS, ssize_t, write, (int fd, const void *p, size_t n), (fd, p, n))
NEXT(CALLS, void *, mmap, (void *a, size_t n, int p, int f, int fd, off_t o), (a, n, p, f, fd, o))
NEXT(CALLS, int, munmap, (void *a, size_t n), (a, n))
NEXT(CALLS, int, madvise, (void *a, size_t n, int h), (a, n, h))
NEXT(WAITS, int, poll, (struct pollfd *fds, nfds_t n, int t), (fds, n, t))
NEXT(WAITS, int, sched_yield, (void), ())

long syscall(long number, ...) {
  static long (*next)(long, ...);
  if (next == NULL) next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  count(number == SYS_futex ? WAITS : CALLS);
  va_list rest;
  long a[6];
  va_start(rest, number);
  for (int i = 0; i < 6; ++i) a[i] = va_arg(rest, long);
  va_end(rest);
  return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
