// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/resident_bytes.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
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
  // Each mapping has one line "begin-end rights offset device inode path", and then one line for each fact about it.
  std::ifstream maps("/proc/self/smaps");
  std::optional<std::pair<uintptr_t, uintptr_t>> code;  // The mapping of the lines being read, if it is code.
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields(line);
    if (line.starts_with("Anonymous:")) {
      std::string name;
      uint64_t kib = 0;
      // A page that was written to (by a loader or a debugger) differs from the file, and dropping it would lose the
      // change.
      if (code && fields >> name >> kib && kib == 0) {
        static_cast<void>(::madvise(reinterpret_cast<void*>(code->first), code->second - code->first, MADV_DONTNEED));
      }
      code.reset();
      continue;
    }
    uintptr_t begin = 0, end = 0;
    char dash = 0;
    std::string rights, offset, device;
    uint64_t inode = 0;
    if (fields >> std::hex >> begin >> dash >> end >> rights >> offset >> device >> std::dec >> inode && dash == '-') {
      code.reset();
      if (rights == "r-xp" && inode != 0) code.emplace(begin, end);
    }
  }
}

uint64_t resident_bytes() {
  give_back_freed_memory();
  std::ifstream statm("/proc/self/statm");  // In pages: the address space, then the resident set.
  uint64_t size = 0, resident = 0;
  if (statm >> size >> resident) return resident * uint64_t(::sysconf(_SC_PAGESIZE));
  rusage usage{};
  return ::getrusage(RUSAGE_SELF, &usage) == 0 ? uint64_t(usage.ru_maxrss) << 10 : 0;
}

}  // namespace shoal
