// Default floating-point arithmetic for one scope: round to nearest, subnormals kept. Callers may have set
// other modes in their thread (torch.set_flush_denormal), and ranks must not differ by that. Any thread.
#pragma once

#include <cstdint>  // for uint32_t, uint64_t

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace ring::kernel {

class DefaultArithmetic {
 public:
  DefaultArithmetic() noexcept : found_(read()) {
    if ((found_ & kModes) != kDefault) write((found_ & ~kModes) | kDefault);
  }
  ~DefaultArithmetic() {
    if ((found_ & kModes) != kDefault) write(found_);
  }
  DefaultArithmetic(const DefaultArithmetic&) = delete;
  DefaultArithmetic& operator=(const DefaultArithmetic&) = delete;

 private:
#if defined(__SSE2__)
  using Word = std::uint32_t;
  static constexpr Word kModes = 0xffc0;    // DAZ, exception masks, rounding, FTZ; not the sticky flags
  static constexpr Word kDefault = 0x1f80;  // all exceptions masked
  static Word read() noexcept { return _mm_getcsr(); }
  static void write(Word word) noexcept { _mm_setcsr(word); }
#elif defined(__aarch64__)
  using Word = std::uint64_t;
  static constexpr Word kModes = 0x7f79f00;  // AHP, DN, FZ, rounding, FZ16, traps
  static constexpr Word kDefault = 0;
  static Word read() noexcept {
    Word word;
    asm volatile("mrs %0, fpcr" : "=r"(word)::"memory");
    return word;
  }
  static void write(Word word) noexcept { asm volatile("msr fpcr, %0" ::"r"(word) : "memory"); }
#else
  using Word = std::uint32_t;
  static constexpr Word kModes = 0;
  static constexpr Word kDefault = 0;
  static Word read() noexcept { return 0; }
  static void write(Word) noexcept {}
#endif

  Word found_;
};

}  // namespace ring::kernel
