// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The reference kernels: plain loops, the truth for tests, and what every backend falls back to.
#include "shoal/backends/kernel.h"

namespace shoal::backends {

/// Takes every op of the built-in catalogue, and a user's own op through its OpDef::kernel. Stateless, lives for ever.
KernelSource& reference_source();

}  // namespace shoal::backends
