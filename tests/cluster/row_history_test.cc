// SPDX-License-Identifier: Apache-2.0
#include "state/row_history.h"

#include <gmock/gmock.h>

namespace shoal::cluster {
namespace {

using testing::ElementsAre;

/// A shard with two variables of `rows` rows each: one updated by row, one updated whole.
ShardSpec table_of(int64_t rows) {
  ShardSpec spec;
  spec.segments.resize(2);
  for (Segment& segment : spec.segments) segment.row_end = rows;
  spec.segments[0].variable.lazy_rows = true;
  return spec;
}

void add(RowHistory& history, uint64_t version, std::vector<uint32_t> rows) {
  history.add(version, std::vector<SegmentRows>{{std::move(rows), {}}, {}});
}

TEST(RowHistory, KnowsWhatChangedSinceAVersion) {
  RowHistory history(table_of(100));
  EXPECT_FALSE(history.covers(1));
  history.restart(1);
  add(history, 2, {7, 9});
  add(history, 3, {1, 7});
  EXPECT_TRUE(history.covers(1));
  EXPECT_FALSE(history.covers(4));
  EXPECT_THAT(history.changed_since(1, 0), ElementsAre(1, 7, 9));
  EXPECT_THAT(history.changed_since(2, 0), ElementsAre(1, 7));
  EXPECT_THAT(history.changed_since(3, 0), ElementsAre());
  EXPECT_EQ(history.changes_since(1, 0), 4u);
  history.restart(9);
  EXPECT_FALSE(history.covers(3));
  EXPECT_THAT(history.changed_since(9, 0), ElementsAre());
}

/// The history has as many row numbers as the tables have rows, which is what server_memory() counts.
TEST(RowHistory, RemembersNoMoreRowsThanThereAre) {
  RowHistory history(table_of(5));
  history.restart(1);
  add(history, 2, {0, 1, 2});
  add(history, 3, {3, 4});
  EXPECT_TRUE(history.covers(1));
  add(history, 4, {0});
  EXPECT_FALSE(history.covers(1));
  EXPECT_TRUE(history.covers(2));
  add(history, 5, {0, 1, 2, 3, 4});
  EXPECT_FALSE(history.covers(3));
  EXPECT_TRUE(history.covers(4));
  EXPECT_EQ(history.changes_since(4, 0), 5u);
}

/// Updates that touch no row at all would be remembered for ever otherwise.
TEST(RowHistory, RemembersNoMoreUpdatesThanThereAreRows) {
  RowHistory history(table_of(3));
  history.restart(1);
  for (uint64_t version = 2; version <= 6; ++version) add(history, version, {});
  EXPECT_FALSE(history.covers(2));
  EXPECT_TRUE(history.covers(3));
}

}  // namespace
}  // namespace shoal::cluster
