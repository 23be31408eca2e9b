#include "ring/kernel/instructions.h"

#include <atomic>  // for atomic

#include "ring/kernel/choice.h"

namespace ring::kernel {
namespace {

using Choices = std::vector<const Loops*>;

// Best first.
Choices available() {
  Choices choices;
#if defined(RING_KERNEL_X86)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c")) {
    choices.push_back(&avx512::kLoops);
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c")) choices.push_back(&avx2::kLoops);
#endif
  choices.push_back(&baseline::kLoops);
  return choices;
}

std::atomic<const Loops*>& choice() noexcept {
  static std::atomic<const Loops*> chosen{available().front()};
  return chosen;
}

}  // namespace

const Loops& loops() noexcept {
  return *choice().load(std::memory_order_relaxed);
}

const char* instruction_set() noexcept {
  return loops().name;
}

std::vector<const char*> instruction_sets() {
  std::vector<const char*> names;
  for (const Loops* one : available()) names.push_back(one->name);
  return names;
}

bool set_instruction_set(std::string_view name) noexcept {
  for (const Loops* one : available()) {
    if (name != one->name) continue;
    choice().store(one, std::memory_order_relaxed);
    return true;
  }
  return false;
}

}  // namespace ring::kernel
