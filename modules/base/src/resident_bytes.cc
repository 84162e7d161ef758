// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/resident_bytes.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "shoal/base/kernel_file.h"

namespace shoal {
namespace {

struct Addresses {
  uintptr_t begin = 0, end = 0;
};

/// The addresses of a mapping, from two hexadecimal numbers: "aaaab0000-aaaab4000".
std::optional<Addresses> addresses_from(std::string_view text) {
  Addresses addresses;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, addresses.begin, 16);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '-') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, addresses.end, 16);
  if (second.ec != std::errc() || second.ptr != end) return std::nullopt;
  return addresses;
}

}  // namespace

void give_back_freed_memory() {
#if defined(__GLIBC__)
  ::malloc_trim(0);
#endif
}

void give_back_code() {
  // Each mapping has one line "begin-end rights offset device inode path", and then one line for each fact about it.
  KernelFile maps("/proc/self/smaps");
  std::optional<Addresses> code;  // The mapping of the lines being read, if it is code.
  while (const auto line = maps.line()) {
    const std::vector<std::string_view> fields = split_at_blanks(*line);
    if (fields.size() < 2) continue;
    if (fields[0] == "Anonymous:") {
      // A page that was written to (by a loader or a debugger) differs from the file, and dropping it would lose the
      // change.
      if (code && fields[1] == "0")
        static_cast<void>(::madvise(reinterpret_cast<void*>(code->begin), code->end - code->begin, MADV_DONTNEED));
      code.reset();
    } else if (const auto addresses = addresses_from(fields[0])) {
      code.reset();
      if (fields.size() > 4 && fields[1] == "r-xp" && fields[4] != "0") code = addresses;
    }
  }
}

uint64_t resident_bytes() {
  give_back_freed_memory();
  const auto pages = numbers_in<uint64_t>("/proc/self/statm", 2);  // The address space, then the resident set.
  if (pages[1]) return *pages[1] * uint64_t(::sysconf(_SC_PAGESIZE));
  rusage usage{};
  return ::getrusage(RUSAGE_SELF, &usage) == 0 ? uint64_t(usage.ru_maxrss) << 10 : 0;
}

}  // namespace shoal
