// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Plans the memory of one run of a program: places all values in one block of memory (the arena). Values that are not
/// needed at the same time may share memory.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace shoal {

/// One value. Its memory is needed from the step that writes it to the last step that reads it, both included.
struct PlannedValue {
  size_t bytes = 0;
  int32_t first = 0;
  int32_t last = 0;
  /// The values (by index) whose memory this value may take over, best first. The plan takes the first of them that is last
  /// read in step `first`, is at least as large as this value, and has not given its memory to another value.
  std::vector<int32_t> may_replace;
};

struct MemoryPlan {
  std::vector<size_t> offsets;    ///< The offset of each value in bytes, a multiple of 64.
  std::vector<int32_t> replaced;  ///< For each value, the value whose memory it takes over, or -1.
  size_t arena_bytes = 0;
  /// The largest sum of the sizes of live values in any step, where each size is rounded up to 64 bytes and values that
  /// use the same memory count once. No plan with the same `replaced` needs less memory.
  size_t lower_bound_bytes = 0;
};

/// Chooses offsets by best fit, greedily in three orders (by size, by size times life, by first use), and returns the
/// plan with the smallest arena. Source for greedy by size: Pisarchyk, Lee, "Efficient memory management for deep
/// neural net inference" (2020). Deterministic. `values` are in the order in which they are written.
MemoryPlan plan_memory(std::span<const PlannedValue> values);

}  // namespace shoal
