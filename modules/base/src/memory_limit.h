// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How much memory this process may have.
#include <cstdint>

namespace shoal {

struct MemoryLimit {
  uint64_t bytes = 0;       ///< 0: not known.
  const char* whose = "";   ///< "the machine's memory", or the limit that is less.
  bool of_process = false;  ///< True: it counts this process's address space alone (ulimit -v, ulimit -d, 32 bits).
};

/// The least of the machine's memory, the limit of this process's cgroup, its own limits, and what its addresses reach.
MemoryLimit read_memory_limit();

}  // namespace shoal
