// SPDX-License-Identifier: Apache-2.0
#include "shoal/graph/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "shoal/base/buffer.h"
#include "shoal/base/random.h"

namespace shoal {
namespace {

bool live_together(const PlannedValue& a, const PlannedValue& b) { return a.first <= b.last && b.first <= a.last; }

/// The oracle: looks at every pair of values.
void expect_valid(const std::vector<PlannedValue>& values, const MemoryPlan& plan) {
  for (size_t a = 0; a < values.size(); ++a) {
    ASSERT_EQ(plan.offsets[a] % kBufferAlignment, 0u);
    ASSERT_LE(plan.offsets[a] + values[a].bytes, plan.arena_bytes);
    if (const int32_t other = plan.replaced[a]; other >= 0) {
      ASSERT_EQ(plan.offsets[a], plan.offsets[size_t(other)]);
      ASSERT_EQ(values[a].first, values[size_t(other)].last);
    }
    for (size_t b = 0; b < a; ++b) {
      if (!live_together(values[a], values[b]) || plan.replaced[a] == int32_t(b)) continue;
      const bool apart =
          plan.offsets[a] + values[a].bytes <= plan.offsets[b] || plan.offsets[b] + values[b].bytes <= plan.offsets[a];
      ASSERT_TRUE(apart || values[a].bytes == 0 || values[b].bytes == 0) << "values " << a << " and " << b;
    }
  }
}

size_t brute_force_lower_bound(const std::vector<PlannedValue>& values, const MemoryPlan& plan) {
  size_t bound = 0;
  for (int32_t step = 0; step < 200; ++step) {
    size_t sum = 0;
    for (size_t v = 0; v < values.size(); ++v) {
      if (step < values[v].first || step > values[v].last) continue;
      const bool counted = plan.replaced[v] >= 0 && values[v].first == step;  // It is counted with the one it replaces.
      if (!counted) sum += align_up(values[v].bytes);
    }
    bound = std::max(bound, sum);
  }
  return bound;
}

std::vector<PlannedValue> random_values(RandomStream& stream, bool equal_sizes) {
  std::vector<PlannedValue> values;
  const auto count = 1 + int32_t(stream.below(60));
  for (int32_t step = 0; step < count; ++step) {
    PlannedValue value{.bytes = equal_sizes ? 256 : stream.below(5000),
                       .first = step,
                       .last = step + int32_t(stream.below(8)),
                       .may_replace = {}};
    for (int32_t other = 0; other < step; ++other) {
      if (stream.below(3) == 0) value.may_replace.push_back(other);
    }
    values.push_back(std::move(value));
  }
  return values;
}

TEST(MemoryPlan, NeverOverlapsLiveValues) {
  size_t arena = 0;
  size_t bound = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomStream stream(seed);
    const auto values = random_values(stream, seed % 5 == 0);
    const MemoryPlan plan = plan_memory(values);
    expect_valid(values, plan);
    ASSERT_GE(plan.arena_bytes, plan.lower_bound_bytes);
    bool equal_blocks = true;
    for (const auto& value : values) equal_blocks = equal_blocks && value.bytes == values[0].bytes;
    if (equal_blocks) {
      ASSERT_EQ(plan.lower_bound_bytes, brute_force_lower_bound(values, plan));
    }
    arena += plan.arena_bytes;
    bound += plan.lower_bound_bytes;
  }
  std::cout << "arena / lower bound over 500 random plans: " << double(arena) / double(bound) << "\n";
  EXPECT_LT(double(arena), 1.10 * double(bound));
}

TEST(MemoryPlan, ReusesMemoryOfValuesThatAreGone) {
  // A chain: each value lives until the next is made, so two places suffice.
  std::vector<PlannedValue> values;
  for (int32_t step = 0; step < 10; ++step)
    values.push_back({.bytes = 1000, .first = step, .last = step + 1, .may_replace = {}});
  const MemoryPlan plan = plan_memory(values);
  EXPECT_EQ(plan.arena_bytes, 2048u);
  EXPECT_EQ(plan.lower_bound_bytes, 2048u);
}

TEST(MemoryPlan, WritesInPlaceWhereItMay) {
  std::vector<PlannedValue> values;
  for (int32_t step = 0; step < 10; ++step) {
    values.push_back({.bytes = 1000, .first = step, .last = step + 1, .may_replace = {}});
    if (step > 0) values.back().may_replace = {step - 1};
  }
  EXPECT_EQ(plan_memory(values).arena_bytes, 1024u);
}

TEST(MemoryPlan, LeavesAValueThatIsStillNeeded) {
  const std::vector<PlannedValue> values{{.bytes = 64, .first = 0, .last = 2, .may_replace = {}},
                                         {.bytes = 64, .first = 1, .last = 2, .may_replace = {0}}};
  const MemoryPlan plan = plan_memory(values);
  EXPECT_EQ(plan.replaced[1], -1);
  EXPECT_EQ(plan.arena_bytes, 128u);
}

TEST(MemoryPlan, GivesAPlaceToOneOnly) {
  const std::vector<PlannedValue> values{{.bytes = 64, .first = 0, .last = 1, .may_replace = {}},
                                         {.bytes = 64, .first = 1, .last = 2, .may_replace = {0}},
                                         {.bytes = 64, .first = 1, .last = 2, .may_replace = {0}}};
  const MemoryPlan plan = plan_memory(values);
  EXPECT_EQ(plan.replaced, (std::vector<int32_t>{-1, 0, -1}));
  EXPECT_NE(plan.offsets[1], plan.offsets[2]);
}

TEST(MemoryPlan, HandlesNothingAndEmptyValues) {
  EXPECT_EQ(plan_memory({}).arena_bytes, 0u);
  EXPECT_EQ(plan_memory(std::vector<PlannedValue>{{.bytes = 0, .first = 0, .last = 3, .may_replace = {}}}).arena_bytes, 0u);
}

}  // namespace
}  // namespace shoal
