// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The floating-point mode of threads that compute on tensors, and the pause instruction for loops that poll memory.
#include <cstdint>

namespace shoal {

/// Sets the floating-point mode of the calling thread permanently: denormal floats count as zero, as operands and as
/// results (matrix products over denormals were measured 250 times slower), results are rounded to the nearest number, and
/// no operation traps. Each thread that Shoal starts calls this function first, since a new thread on x86 Linux inherits
/// the mode of its creator. On riscv64, which has no mode for denormals, they are kept.
void flush_denormals();

/// How arithmetic treats denormal floats. kZero: as zero, which is fast where the processor supports it. kKept: as the
/// numbers that IEEE 754 defines, which gives the same results on every processor.
enum class Denormals : uint8_t { kZero, kKept };

/// Sets the floating-point mode of the user's thread while the object lives: rounding and traps as flush_denormals() does,
/// denormals as asked for. The destructor restores the thread's former mode, and its exception flags (inexact, overflow,
/// ...). Destroy the object on the thread that made it.
class ComputeMode {
 public:
  explicit ComputeMode(Denormals denormals = Denormals::kZero);
  ~ComputeMode();
  ComputeMode(const ComputeMode&) = delete;
  ComputeMode& operator=(const ComputeMode&) = delete;

 private:
  const uint64_t before_;
};

/// How the calling thread treats denormals at the moment.
Denormals denormals_of_thread();

/// Tells the processor that this thread is polling. Call it in loops that wait for memory to change.
inline void relax_cpu() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
  asm volatile("yield");
#endif
}

}  // namespace shoal
