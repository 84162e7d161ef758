// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The portable kernels: loops of Shoal's own that need no library, on a team of threads.
#include "shoal/backends/kernel.h"

namespace shoal::backends {

/// The source takes the ops that docs/arithmetic.md lists. It holds no state and lives for ever. Its kernels compute on up to
/// KernelRequest::threads threads of the calling thread's team.
KernelSource& portable_source();

}  // namespace shoal::backends
