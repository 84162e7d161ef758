// SPDX-License-Identifier: Apache-2.0
#include "memory_limit.h"

#include <sys/resource.h>
#include <unistd.h>

#include "cgroup.h"

namespace shoal {
namespace {

void lower(MemoryLimit& limit, const MemoryLimit& other) {
  if (limit.bytes == 0 || other.bytes < limit.bytes) limit = other;
}

void lower_to_resource(MemoryLimit& limit, decltype(RLIMIT_AS) resource, const char* whose) {
  rlimit own{};
  if (::getrlimit(resource, &own) != 0 || own.rlim_cur == RLIM_INFINITY || own.rlim_cur == 0) return;
  lower(limit, {.bytes = own.rlim_cur, .whose = whose, .of_process = true});
}

}  // namespace

MemoryLimit read_memory_limit() {
  MemoryLimit limit;
  const int64_t pages = ::sysconf(_SC_PHYS_PAGES), page_bytes = ::sysconf(_SC_PAGESIZE);
  if (pages > 0 && page_bytes > 0)
    limit = {.bytes = uint64_t(pages) * uint64_t(page_bytes), .whose = "the machine's memory"};
  if (const auto bytes = read_cgroup_limits().memory_bytes)
    lower(limit, {.bytes = *bytes, .whose = "the limit of its cgroup"});
  if constexpr (sizeof(void*) == 4)
    lower(limit, {.bytes = uint64_t(1) << 32, .whose = "what 32 bits can address", .of_process = true});
  lower_to_resource(limit, RLIMIT_AS, "its limit of address space, ulimit -v");
  lower_to_resource(limit, RLIMIT_DATA, "its limit of data, ulimit -d");
  return limit;
}

}  // namespace shoal
