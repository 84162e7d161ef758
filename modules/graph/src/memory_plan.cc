// SPDX-License-Identifier: Apache-2.0
#include "shoal/graph/memory_plan.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "shoal/base/buffer.h"

namespace shoal {
namespace {

/// A range of the planned memory for one value, or for a chain of values that use the same bytes one after the other.
struct Block {
  size_t bytes;
  int32_t first;
  int32_t last;
  size_t offset = 0;
};

struct Blocks {
  std::vector<Block> blocks;
  std::vector<size_t> block_of;  // For each value: the index in `blocks` of its block.
};

Blocks merge_replacements(std::span<const PlannedValue> values, std::vector<int32_t>& replaced) {
  Blocks result;
  std::vector<bool> taken(values.size());
  for (size_t v = 0; v < values.size(); ++v) {
    const PlannedValue& value = values[v];
    SHOAL_CHECK(value.first <= value.last);
    replaced.push_back(-1);
    for (int32_t other : value.may_replace) {
      SHOAL_CHECK(other >= 0 && size_t(other) < v);
      const PlannedValue& candidate = values[size_t(other)];
      if (taken[size_t(other)] || candidate.last != value.first || candidate.first == value.first ||
          candidate.bytes < value.bytes)
        continue;
      taken[size_t(other)] = true;
      replaced.back() = other;
      break;
    }
    if (replaced.back() >= 0) {
      result.block_of.push_back(result.block_of[size_t(replaced.back())]);
      result.blocks[result.block_of.back()].last = value.last;
    } else {
      result.block_of.push_back(result.blocks.size());
      result.blocks.push_back({align_up(value.bytes), value.first, value.last});
    }
  }
  return result;
}

/// A block with its offset. The struct is small, since best_fit() reads all placed blocks for each further block.
struct Placed {
  int32_t first;
  int32_t last;
  size_t offset;
  size_t end;
};

/// Returns the start of the smallest gap that is large enough for `block`, between the placed blocks that are in use at the
/// same time. If there is none, returns the end of these blocks.
size_t best_fit(const Block& block, const std::vector<Placed>& placed_by_offset) {
  size_t best_offset = 0;
  size_t best_gap = SIZE_MAX;
  size_t end = 0;  // The highest end among the blocks seen so far that are in use at the same time as `block`.
  for (const Placed& other : placed_by_offset) {
    if (other.last < block.first || block.last < other.first) continue;
    if (other.offset > end) {
      const size_t gap = other.offset - end;
      if (gap >= block.bytes && gap < best_gap) {
        best_gap = gap;
        best_offset = end;
      }
    }
    end = std::max(end, other.end);
  }
  return best_gap == SIZE_MAX ? end : best_offset;
}

size_t place(std::vector<Block>& blocks, const std::vector<size_t>& order) {
  std::vector<Placed> placed;
  size_t arena = 0;
  for (size_t index : order) {
    Block& block = blocks[index];
    if (block.bytes == 0) continue;
    block.offset = best_fit(block, placed);
    arena = std::max(arena, block.offset + block.bytes);
    const auto at = std::ranges::upper_bound(placed, block.offset, {}, &Placed::offset);
    placed.insert(at, {block.first, block.last, block.offset, block.offset + block.bytes});
  }
  return arena;
}

template <class Key>
std::vector<size_t> order_by(const std::vector<Block>& blocks, Key key) {
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return key(blocks[a]) > key(blocks[b]); });
  return order;
}

size_t largest_sum(const std::vector<Block>& blocks) {
  // Pairs of a step and bytes. A block adds its bytes in its first step, and subtracts them in the step after its last one.
  std::vector<std::pair<int32_t, int64_t>> changes;
  for (const Block& block : blocks) {
    changes.emplace_back(block.first, int64_t(block.bytes));
    changes.emplace_back(block.last + 1, -int64_t(block.bytes));
  }
  // Sorts by step. Within a step, the negative numbers of blocks that have ended come before those of new blocks.
  std::sort(changes.begin(), changes.end());
  int64_t sum = 0;
  int64_t largest = 0;
  for (const auto& [step, bytes] : changes) largest = std::max(largest, sum += bytes);
  return size_t(largest);
}

}  // namespace

MemoryPlan plan_memory(std::span<const PlannedValue> values) {
  MemoryPlan plan;
  Blocks merged = merge_replacements(values, plan.replaced);
  std::vector<Block>& blocks = merged.blocks;
  const std::array<std::vector<size_t>, 3> orders{
      order_by(blocks, [](const Block& block) { return double(block.bytes); }),
      order_by(blocks, [](const Block& block) { return double(block.bytes) * double(block.last - block.first + 1); }),
      order_by(blocks, [](const Block& block) { return -double(block.first); })};
  std::vector<Block> best;
  for (size_t i = 0; i < orders.size(); ++i) {
    const size_t bytes = place(blocks, orders[i]);
    if (i > 0 && bytes >= plan.arena_bytes) continue;
    plan.arena_bytes = bytes;
    best = blocks;
  }
  for (size_t v = 0; v < values.size(); ++v) plan.offsets.push_back(best[merged.block_of[v]].offset);
  plan.lower_bound_bytes = largest_sum(blocks);
  return plan;
}

}  // namespace shoal
