// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The processor: the floating-point mode of threads that touch tensors, and the breath between two looks.
#include <cstdint>

namespace shoal {

/// Sets the floating-point mode of the calling thread, for good: denormal floats count as zero, as operands and as results
/// (matrix products over denormals were measured 250 times slower), results are rounded to the nearest, and no operation
/// traps. For threads of our own, each of which calls it first: on x86 Linux a new thread inherits the mode of its
/// creator. riscv64 has no mode for denormals.
void flush_denormals();

/// The same for a thread of the caller, while this lives. The destructor puts back the caller's mode, and the flags of
/// operations that were inexact, overflowed, ... as they were. Use it on the thread that made it only.
class ComputeMode {
 public:
  ComputeMode();
  ~ComputeMode();
  ComputeMode(const ComputeMode&) = delete;
  ComputeMode& operator=(const ComputeMode&) = delete;

 private:
  const uint64_t before_;
};

/// Tells the processor that nothing else is done meanwhile. Called in loops that look for a change of memory.
inline void relax_cpu() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
  asm volatile("yield");
#endif
}

}  // namespace shoal
