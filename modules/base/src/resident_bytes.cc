// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/resident_bytes.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace shoal {

void give_back_freed_memory() {
#if defined(__GLIBC__)
  ::malloc_trim(0);
#endif
}

uint64_t resident_bytes() {
  give_back_freed_memory();
  std::ifstream statm("/proc/self/statm");  // In pages: the program's size, and what of it is resident.
  uint64_t size = 0, resident = 0;
  if (statm >> size >> resident) return resident * uint64_t(::sysconf(_SC_PAGESIZE));
  rusage usage{};
  return ::getrusage(RUSAGE_SELF, &usage) == 0 ? uint64_t(usage.ru_maxrss) << 10 : 0;
}

}  // namespace shoal
