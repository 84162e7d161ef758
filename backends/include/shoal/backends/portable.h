// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The portable kernels: loops of Shoal's own that need no library, on a team of threads.
#include <string_view>

#include "shoal/backends/kernel.h"

namespace shoal::backends {

/// The source takes the ops that docs/arithmetic.md lists. It holds no state and lives for ever. Its kernels compute on up to
/// KernelRequest::threads threads of the calling thread's team.
KernelSource& portable_source();

/// The instruction set of the loops that compute matrix products on this processor: "avx512", "avx2", or "plain" for what every processor
/// of the build's kind has. Bits do not depend on it.
std::string_view portable_loops();

}  // namespace shoal::backends
