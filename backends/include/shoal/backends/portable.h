// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The portable kernels: Shoal's own loops, which need no library, on a team of threads.
#include <string_view>

#include "shoal/backends/kernel.h"

namespace shoal::backends {

/// Kernels for the ops that docs/arithmetic.md lists. The source has no state and lives for ever. Its kernels compute on up
/// to KernelRequest::threads threads of the calling thread's team.
KernelSource& portable_source();

/// The instruction set of the loops that compute matrix products on this processor: "avx512", "avx2", or "plain" for the
/// instructions that all processors have for which this build was made. All three sets give results with the same bits.
std::string_view portable_loops();

}  // namespace shoal::backends
