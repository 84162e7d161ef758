// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Counts every allocation of the process, those inside libraries included: allocations.cc replaces malloc, operator new
/// and their kin.
#include <cstdint>

namespace shoal::bench {

struct Allocations {
  uint64_t onednn = 0;  ///< Called from oneDNN's own code: it builds a map of the arguments in every execute().
  uint64_t others = 0;  ///< Everything else.
  friend Allocations operator-(Allocations a, Allocations b) { return {a.onednn - b.onednn, a.others - b.others}; }
};

/// The allocations since the process started, over all threads.
Allocations allocations();

}  // namespace shoal::bench
