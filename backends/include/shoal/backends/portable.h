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
/// instructions that every processor of the build's kind has. Bits do not depend on it.
std::string_view portable_loops();

}  // namespace shoal::backends
