// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The memory that this process may use.
#include <cstdint>

namespace shoal {

struct MemoryLimit {
  uint64_t bytes = 0;       ///< 0: not known.
  const char* whose = "";   ///< Names the limit: "the machine's memory", "the limit of its cgroup", ...
  bool of_process = false;  ///< True: a limit of this process's address space (ulimit -v, ulimit -d, 32 bits).
};

/// The least of four amounts: the machine's memory, the limit of this process's cgroup, the limits that `ulimit` set for
/// this process, and what its pointers can address.
MemoryLimit read_memory_limit();

}  // namespace shoal
