#pragma once
/// State of the processor that every thread which touches tensors sets first.

namespace shoal {

/// Denormal floats count as zero on the calling thread, as operands and as results: matrix products over denormals
/// were measured 250 times slower. Does nothing on riscv64, whose processors have no such mode. Threads started later
/// inherit it on x86 Linux only, so each sets it for itself.
void flush_denormals();

}  // namespace shoal
