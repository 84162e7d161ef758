#pragma once
/// The processor: a state that every thread which touches tensors sets first, and the breath between two looks.

namespace shoal {

/// Denormal floats count as zero on the calling thread, as operands and as results: matrix products over denormals
/// were measured 250 times slower. Does nothing on riscv64, whose processors have no such mode. Threads started later
/// inherit it on x86 Linux only, so each sets it for itself.
void flush_denormals();

/// Tells the processor that nothing else is done meanwhile. Called in loops that look for a change of memory.
inline void relax_cpu() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
  asm volatile("yield");
#endif
}

}  // namespace shoal
