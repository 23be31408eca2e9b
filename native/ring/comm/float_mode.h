// PlainFloats: while it lives, this thread computes with subnormal numbers, whatever its application has set;
// half floats need them. The old mode comes back at the end.
#pragma once

#if defined(__SSE2__)
#include <xmmintrin.h>  // for _mm_getcsr, _mm_setcsr
#else
#include <cfenv>  // for fegetenv, fesetenv
#endif

namespace ring::comm {

#if defined(__SSE2__)
class PlainFloats {
 public:
  PlainFloats() : before_(_mm_getcsr()) {
    if ((before_ & kMode) != 0) _mm_setcsr(before_ & ~kMode);
  }
  PlainFloats(const PlainFloats&) = delete;
  PlainFloats& operator=(const PlainFloats&) = delete;
  ~PlainFloats() {
    if ((before_ & kMode) != 0) _mm_setcsr(before_);
  }

 private:
  static constexpr unsigned kMode = 0x8040 | 0x6000;  // flush to zero, denormals are zero, rounding

  unsigned before_;
};
#else
class PlainFloats {
 public:
  PlainFloats() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  PlainFloats(const PlainFloats&) = delete;
  PlainFloats& operator=(const PlainFloats&) = delete;
  ~PlainFloats() { std::fesetenv(&before_); }

 private:
  std::fenv_t before_;
};
#endif

}  // namespace ring::comm
