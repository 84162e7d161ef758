// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Where the values of one run lie in one arena: values that are not needed at the same time share memory.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace shoal {

/// One value: needed from the step that writes it to the last step that reads it, both included.
struct PlannedValue {
  size_t bytes = 0;
  int32_t first = 0;
  int32_t last = 0;
  /// Values (by index) in whose place this one may be written, best first. Done where such a value ends at `first`, is no
  /// smaller, and nobody else took its place.
  std::vector<int32_t> may_replace;
};

struct MemoryPlan {
  std::vector<size_t> offsets;    ///< The offset of each value, a multiple of 64.
  std::vector<int32_t> replaced;  ///< The value in whose place each one is written, or -1.
  size_t arena_bytes = 0;
  /// Largest sum of live values in any step, each rounded up to 64 bytes, a value in another's place counted once: no
  /// plan with the same replacements is smaller.
  size_t lower_bound_bytes = 0;
};

/// Offsets by best fit, greedily in three orders (by size, by size times life, by first use); the smallest arena wins.
/// Source for greedy by size: Pisarchyk, Lee, "Efficient memory management for deep neural net inference" (2020).
/// Deterministic. Values come in the order in which they are written.
MemoryPlan plan_memory(std::span<const PlannedValue> values);

}  // namespace shoal
