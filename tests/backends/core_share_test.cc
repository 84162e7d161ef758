// SPDX-License-Identifier: Apache-2.0
#include "core_share.h"

#include <gtest/gtest.h>

namespace shoal::backends {
namespace {

using std::chrono::milliseconds;

class CoreShareTest : public ::testing::Test {
 protected:
  /// How long the thread is to stay away after 20 ms in which it wanted to run.
  milliseconds after(int computed_ms, int taken) {
    use_.computing += milliseconds(computed_ms);
    use_.taken += taken;
    return std::chrono::duration_cast<milliseconds>(share_.look(milliseconds(20), use_, threads_));
  }
  CoreShare share_;
  CoreUse use_;
  int threads_ = 2;
};

TEST_F(CoreShareTest, WhoHasItsCoreStays) {
  for (int i = 0; i < 10; ++i) EXPECT_EQ(after(19, 0).count(), 0);
}

TEST_F(CoreShareTest, WhoSharesItStaysAwayForLongerEachTime) {
  EXPECT_EQ(after(10, 4).count(), 32);
  EXPECT_EQ(after(10, 4).count(), 64);
  for (const int away : {128, 256, 512, 512}) EXPECT_EQ(after(10, 4).count(), away);
  EXPECT_EQ(after(19, 0).count(), 0);
  EXPECT_EQ(after(10, 4).count(), 512) << "one quiet look says little";
  for (int i = 0; i < 40; ++i) EXPECT_EQ(after(19, 0).count(), 0);
  EXPECT_EQ(after(10, 4).count(), 32);
}

/// In a large team, who takes a piece of another one has two.
TEST_F(CoreShareTest, InALargeTeamOnlyWhoHasLessThanHalf) {
  threads_ = 8;
  EXPECT_EQ(after(12, 4).count(), 0);
  EXPECT_EQ(after(8, 4).count(), 32);
}

/// The system's own threads take a core for some microseconds, many times.
TEST_F(CoreShareTest, WhatTakesNoTimeIsNoMatter) { EXPECT_EQ(after(19, 50).count(), 0); }

/// All cores of a virtual machine run less while its host gives them to others: one thread would be slower still.
TEST_F(CoreShareTest, TimeThatTheHostTakesIsNoMatter) { EXPECT_EQ(after(8, 1).count(), 0); }

}  // namespace
}  // namespace shoal::backends
