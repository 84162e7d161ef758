// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The reference kernels: plain loops, which define the right results for tests, and which every backend falls back to.
#include "shoal/backends/kernel.h"

namespace shoal::backends {

/// Supports every op of the built-in catalogue, and a user's own op through its OpDef::kernel. Stateless; lives for ever.
KernelSource& reference_source();

}  // namespace shoal::backends
