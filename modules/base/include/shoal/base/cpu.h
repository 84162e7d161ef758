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

/// What denormal floats are: zero, which is fast where a processor can do it, or the numbers that IEEE 754 says, which are the same on
/// every processor.
enum class Denormals : uint8_t { kZero, kKept };

/// The mode of a thread of the caller's, while this lives: rounding and traps as flush_denormals() says, and denormals as asked for. The
/// destructor puts back the caller's mode, and the flags of operations that were inexact, overflowed, ... as they were. Use it
/// on the thread that made it only.
class ComputeMode {
 public:
  explicit ComputeMode(Denormals denormals = Denormals::kZero);
  ~ComputeMode();
  ComputeMode(const ComputeMode&) = delete;
  ComputeMode& operator=(const ComputeMode&) = delete;

 private:
  const uint64_t before_;
};

/// What the calling thread takes them for now.
Denormals denormals_of_thread();

/// Tells the processor that nothing else is done meanwhile. Called in loops that look for a change of memory.
inline void relax_cpu() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
  asm volatile("yield");
#endif
}

}  // namespace shoal
