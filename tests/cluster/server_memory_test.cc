#include "shoal/cluster/server_memory.h"

#include <gtest/gtest.h>

namespace shoal::cluster {
namespace {

constexpr uint64_t kMiB = uint64_t(1) << 20;

/// DESIGN's sum for Adam and W trainers: versions (W + 2) P, slots 2 P, updates W P, a snapshot 3 P.
TEST(ServerMemory, IsTheSumOfDesignForAdam) {
  for (int trainers : {1, 2, 5}) {
    const ServerMemory memory =
        server_memory({.segments = {}, .arena_bytes = 10 * kMiB, .slot_count = 2, .scalar_count = 1}, trainers);
    EXPECT_EQ(memory.total(), 10 * kMiB * uint64_t((trainers + 2) + 2 + trainers + 3)) << trainers;
  }
}

TEST(ServerMemory, HasNoSlotsWhereTheRuleHasNone) {
  const ServerMemory memory =
      server_memory({.segments = {}, .arena_bytes = 4 * kMiB, .slot_count = 0, .scalar_count = 1}, 1);
  EXPECT_EQ(memory.slots, 0u);
  EXPECT_EQ(to_string(memory), "at most 20.0 MiB: versions 12.0, slots 0.0, updates 4.0, snapshot 4.0");
}

}  // namespace
}  // namespace shoal::cluster
