#pragma once
/// Numbers below 1e-38 are flushed to zero: they are noise in training, and cost up to a hundred times the time.

namespace shoal::backends {

/// On the calling thread, for good: results and operands that are denormal count as zero. No effect where the processor has
/// no such mode (it is part of Numerics::isa through the architecture).
void flush_denormals();

}  // namespace shoal::backends
