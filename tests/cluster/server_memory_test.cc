// SPDX-License-Identifier: Apache-2.0
#include "shoal/cluster/server_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "state/push_credits.h"

namespace shoal::cluster {
namespace {

constexpr uint64_t kMiB = uint64_t(1) << 20;

/// The sum of DESIGN for Adam and W trainers: versions (W + 2) P, slots 2 P, updates W P, a snapshot 3 P.
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

ShardSpec shard_of(uint64_t bytes) { return {.segments = {}, .arena_bytes = bytes, .slot_count = 2, .scalar_count = 1}; }

/// An encoded push lies here as received and as decoded; the residuals of top-k are here for a checkpoint.
TEST(ServerMemory, CountsEncodedPushesTwice) {
  using transport::Encoding;
  const ShardSpec shard = shard_of(10);
  EXPECT_EQ(server_memory(shard, 3, 6).updates, 60u);
  EXPECT_EQ(server_memory(shard, 3, 6, Encoding::kBfloat16).updates, 120u);
  EXPECT_EQ(server_memory(shard, 3, 1, Encoding::kBfloat16).updates, 60u);
  EXPECT_EQ(server_memory(shard, 3, 1, Encoding::kTopK).updates, 90u);
  ShardSpec table = shard;
  table.segments.resize(2);
  table.segments[1].row_end = 1;
  table.segments[1].variable.lazy_rows = true;
  EXPECT_EQ(server_memory(table, 3).updates, 60u);
}

/// The numbers of all rows of tables by rows, once for each push and once more.
TEST(ServerMemory, HasTheRowsOfTables) {
  ShardSpec shard = shard_of(kMiB);
  shard.segments.resize(3);
  for (Segment& segment : shard.segments) segment.row_end = segment.row_begin + (1 << 17);
  const uint64_t without = server_memory(shard, 2).total();
  shard.segments[0].variable.lazy_rows = shard.segments[2].variable.lazy_rows = true;
  const ServerMemory memory = server_memory(shard, 2);
  EXPECT_EQ(memory.row_numbers, 16 * 3 * kMiB / 4);
  EXPECT_EQ(memory.total(), without + 2 * kMiB + memory.row_numbers);  // Two updates, as they came, are two MiB more.
  EXPECT_THAT(to_string(memory), testing::EndsWith(", snapshot 3.0, row numbers 12.0"));
  EXPECT_EQ(server_memory(shard, 2, 6).row_numbers, 16 * 7 * kMiB / 4);
}

/// The sum of all trainers' limits is what the formula has for pushes and for versions on their way to trainers.
TEST(ServerMemory, WhatTrainersMayPushIsPartOfIt) {
  for (const int trainers : {1, 3}) {
    const auto share = [&](uint64_t limit) { return uint64_t(trainers) * (limit - 2 * kPushOverhead); };
    const uint64_t versions_on_their_way = uint64_t(trainers) * 10;
    EXPECT_EQ(share(push_limit(shard_of(10)).dense), server_memory(shard_of(10), trainers).updates + versions_on_their_way);
    const ServerMemory encoded = server_memory(shard_of(10), trainers, 1, transport::Encoding::kInt8);
    EXPECT_EQ(share(push_limit(shard_of(10)).encoded), encoded.updates + versions_on_their_way);
  }
}

TEST(PushCredits, LimitWhatATrainerHasAndGiveBackWhatGoes) {
  PushCredits credits;
  credits.set_limit({.dense = 20, .encoded = 30});
  PushCredit first, other;
  EXPECT_TRUE(credits.grow(other, 2, 1000, false));  // A single push is accepted, however large.
  EXPECT_TRUE(credits.grow(first, 1, 5, false));
  EXPECT_TRUE(credits.grow(first, 1, 5, false));
  {
    PushCredit second, third;
    EXPECT_TRUE(credits.grow(second, 1, 10, false));
    EXPECT_FALSE(credits.grow(third, 1, 1, false));
    EXPECT_TRUE(credits.grow(third, 1, 10, true));
    EXPECT_FALSE(credits.grow(third, 1, 1, true));
    EXPECT_EQ(credits.taken(1), 30u);
    second = std::move(first);
    EXPECT_EQ(credits.taken(1), 20u);
  }
  EXPECT_EQ(credits.taken(1), 0u);
  EXPECT_EQ(credits.taken(2), 1000u);
}

TEST(PushCredits, MayGoAfterTheirAccount) {
  PushCredit credit;
  {
    PushCredits credits;
    ASSERT_TRUE(credits.grow(credit, 1, 8, false));
  }
  EXPECT_EQ(credit.bytes(), 8u);
}

}  // namespace
}  // namespace shoal::cluster
