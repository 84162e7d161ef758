#include "shoal/cluster/server_memory.h"

#include <unistd.h>

#include <cstdio>

namespace shoal::cluster {

ServerMemory server_memory(const ShardSpec& spec, int trainers) {
  const uint64_t weights = spec.arena_bytes, slots = uint64_t(spec.slot_count), contributors = uint64_t(trainers);
  return {.versions = (contributors + 2) * weights,
          .slots = slots * weights,
          .updates = contributors * weights,
          .snapshot = (1 + slots) * weights};
}

Result<void> fits_into_memory(const ShardSpec& spec) {
  const uint64_t least = (2 + uint64_t(spec.slot_count)) * spec.arena_bytes;
  const int64_t pages = ::sysconf(_SC_PHYS_PAGES), page_bytes = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0 || least <= uint64_t(pages) * uint64_t(page_bytes)) return {};
  return failed_precondition("this server's part of the model takes at least " + std::to_string(least >> 20) +
                             " MiB, and the machine has " + std::to_string(uint64_t(pages) * uint64_t(page_bytes) >> 20) +
                             " MiB; use more parameter servers");
}

std::string to_string(const ServerMemory& memory) {
  constexpr double kMiB = 1 << 20;
  char text[160];
  std::snprintf(text, sizeof text, "at most %.1f MiB: versions %.1f, slots %.1f, updates %.1f, snapshot %.1f",
                double(memory.total()) / kMiB, double(memory.versions) / kMiB, double(memory.slots) / kMiB,
                double(memory.updates) / kMiB, double(memory.snapshot) / kMiB);
  return text;
}

}  // namespace shoal::cluster
