// SPDX-License-Identifier: Apache-2.0
#include "shoal/cluster/server_memory.h"

#include <algorithm>

#include "shoal/base/exhaustion.h"
#include "shoal/base/format.h"

namespace shoal::cluster {

using transport::Encoding;

namespace {

// The memory for each row of a push, beside the floats of the row: its number (4 bytes), the address of the floats (8
// bytes; SegmentRows), and its number once more (4 bytes) while several pushes are merged. One further push is counted for
// the rows in the history of the newest updates (RowHistory) and in one reply.
constexpr uint64_t kBytesOfRowNumber = 4 + 8 + 4;

}  // namespace

ServerMemory server_memory(const ShardSpec& spec, int trainers, int aggregated, Encoding gradients) {
  const uint64_t weights = spec.arena_bytes, slots = uint64_t(spec.slot_count), contributors = uint64_t(trainers);
  const uint64_t pushes = std::max(contributors, uint64_t(aggregated));
  uint64_t rows = 0;
  for (const Segment& segment : spec.segments) {
    if (segment.variable.lazy_rows) rows += uint64_t(segment.row_end - segment.row_begin);
  }
  const uint64_t forms = gradients == Encoding::kDense && rows == 0 ? 1 : 2;
  const uint64_t residuals = gradients == Encoding::kTopK ? contributors : 0;
  return {.versions = (contributors + 2) * weights,
          .slots = slots * weights,
          .updates = (forms * pushes + residuals) * weights,
          .snapshot = (1 + slots) * weights,
          .row_numbers = kBytesOfRowNumber * (pushes + 1) * rows};
}

PushLimit push_limit(const ShardSpec& spec) {
  return {.dense = 2 * (spec.arena_bytes + kPushOverhead), .encoded = 3 * spec.arena_bytes + 2 * kPushOverhead};
}

Result<void> fits_into_memory(const ShardSpec& spec, uint64_t memory_bytes) {
  const uint64_t least = (2 + uint64_t(spec.slot_count)) * spec.arena_bytes;
  return fits_memory(least, memory_bytes, "this server's part of the model", "use more parameter servers");
}

Result<void> fits_into_limit(const ServerMemory& memory, uint64_t held_bytes, uint64_t limit_bytes) {
  if (held_bytes + memory.total() <= limit_bytes) return {};
  constexpr double kMiB = 1 << 20;
  return failed_precondition(
      "this server's part of the model takes " + to_string(memory) +
      formatted("; the process has %.1f MiB without it, and runtime.memory_limit is %.1f MiB; what helps: ",
                double(held_bytes) / kMiB, double(limit_bytes) / kMiB) +
      "more parameter servers, fewer trainers, an optimizer with fewer slots");
}

std::string to_string(const ServerMemory& memory) {
  constexpr double kMiB = 1 << 20;
  std::string text = formatted("at most %.1f MiB: versions %.1f, slots %.1f, updates %.1f, snapshot %.1f",
                               double(memory.total()) / kMiB, double(memory.versions) / kMiB, double(memory.slots) / kMiB,
                               double(memory.updates) / kMiB, double(memory.snapshot) / kMiB);
  if (memory.row_numbers > 0) text += formatted(", row numbers %.1f", double(memory.row_numbers) / kMiB);
  return text;
}

}  // namespace shoal::cluster
