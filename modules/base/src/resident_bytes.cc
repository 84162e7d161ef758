// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/resident_bytes.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace shoal {

void give_back_freed_memory() {
#if defined(__GLIBC__)
  ::malloc_trim(0);
#endif
}

void give_back_code() {
  std::ifstream maps("/proc/self/maps");  // begin-end rights offset device inode path
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields(line);
    uintptr_t begin = 0, end = 0;
    char dash = 0;
    std::string rights, offset, device;
    uint64_t inode = 0;
    fields >> std::hex >> begin >> dash >> end >> rights >> offset >> device >> std::dec >> inode;
    // Pages of a file that nobody may write are those of the file: none of them has anything that would be lost.
    if (!fields || rights != "r-xp" || inode == 0) continue;
    static_cast<void>(::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED));
  }
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
