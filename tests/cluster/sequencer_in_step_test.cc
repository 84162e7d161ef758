// SPDX-License-Identifier: Apache-2.0
/// The trainers that a synchronous step waits for, after some rested, left, were lost, or were told to stop.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "held_report.h"
#include "server/sequencer.h"

namespace shoal::cluster {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using transport::Order;
using transport::OrderKind;
using transport::PushId;

// Three shards. Two of them had the last push of a process that left; the third was cut off, and reports the push late.
// The push does not count, and no step waits for another one of that process, but steps wait for a push of a newer
// process.
TEST(SequencerInStep, NobodyWaitsForAProcessThatLeftWhoseLastPushComesLate) {
  for (const bool comes_back : {false, true}) {
    Sequencer sequencer(3, 2, sync_strategy(2, 2));
    sequencer.begin(1, 0);
    const auto hold = [&](const PushId& push, uint64_t base_version) {
      for (size_t shard = 0; shard < 3; ++shard) sequencer.held(shard, held(push, base_version));
    };
    sequencer.held(0, held({1, 100, 1}, 1));
    sequencer.held(1, held({1, 100, 1}, 1));
    sequencer.leave(1, 100);
    hold({0, 50, 1}, 1);
    const std::optional<Order> alone = sequencer.next();
    ASSERT_TRUE(alone);
    EXPECT_THAT(alone->pushes, ElementsAre(PushId{0, 50, 1}));
    sequencer.held(2, held({1, 100, 1}, 1));
    const std::optional<Order> late = sequencer.next();
    ASSERT_TRUE(late);
    EXPECT_EQ(late->kind, OrderKind::kDrop);
    if (comes_back) hold({1, 101, 1}, 2);
    hold({0, 50, 2}, 2);
    const std::optional<Order> next = sequencer.next();
    ASSERT_TRUE(next);
    EXPECT_EQ(next->kind, OrderKind::kCommit);
    EXPECT_EQ(next->pushes.size(), comes_back ? 2u : 1u);
    hold({0, 50, 3}, 3);
    EXPECT_EQ(sequencer.next().has_value(), !comes_back);
  }
}

TEST(SequencerInStep, TellsWhoIsWaitedFor) {
  Sequencer sequencer(1, 4, sync_strategy(4, 4));
  sequencer.begin(1, 0);
  EXPECT_THAT(sequencer.awaited(), IsEmpty()) << "nobody waits yet";
  sequencer.rest({1, 100, 0});
  sequencer.set_lost(2, true);
  sequencer.held(0, held({0, 50, 1}, 1));
  while (sequencer.next()) {
  }
  EXPECT_THAT(sequencer.awaited(), ElementsAre(3));
  sequencer.seal();
  EXPECT_THAT(sequencer.awaited(), IsEmpty());
}

// A shard that was cut off reports a push when its trainer has given that up, and rests.
TEST(SequencerInStep, WhoRestsIsNotBroughtBackByWhatItGaveUp) {
  Sequencer sequencer(2, 2, sync_strategy(2, 2));
  sequencer.begin(1, 0);
  sequencer.held(0, held({1, 100, 1}, 1));
  sequencer.rest({1, 100, 1});
  EXPECT_EQ(sequencer.next()->kind, OrderKind::kDrop);
  sequencer.held(1, held({1, 100, 1}, 1));
  EXPECT_FALSE(sequencer.is_active(1));
  for (const size_t shard : {0, 1}) sequencer.held(shard, held({0, 50, 1}, 1));
  const auto next = sequencer.next();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->pushes.size(), 1u);
}

TEST(SequencerInStep, WhoHadEndedTakesNoPartFromTheBeginning) {
  Sequencer sequencer(1, 3, sync_strategy(3, 3));
  sequencer.begin(1, 0, {1, 7});
  sequencer.held(0, held({0, 50, 1}, 1));
  EXPECT_THAT(sequencer.awaited(), ElementsAre(2));
  sequencer.held(0, held({2, 50, 1}, 1));
  const auto next = sequencer.next();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->pushes.size(), 2u);
}

// A resting trainer pushes again, and steps wait for it from then on.
TEST(SequencerInStep, WhoHasRestedIsWaitedForAgain) {
  Sequencer sequencer(1, 2, sync_strategy(2, 2));
  sequencer.begin(1, 0);
  sequencer.rest({1, 100, 0});
  sequencer.held(0, held({0, 50, 1}, 1));
  EXPECT_TRUE(sequencer.next());
  sequencer.held(0, held({1, 100, 1}, 2));
  EXPECT_FALSE(sequencer.next());
  sequencer.held(0, held({0, 50, 2}, 2));
  ASSERT_TRUE(sequencer.next());
  sequencer.held(0, held({0, 50, 3}, 3));
  EXPECT_FALSE(sequencer.next());
}

// Each trainer gives two pushes to a commit. One that has given its first, and was granted a second, is told to stop,
// and then that the job goes on (another chief has come): it begins anew, and so do the others.
TEST(SequencerInStep, WhatWasGrantedIsForgottenWithWhatItWasGrantedFor) {
  for (const bool by_seal : {false, true}) {
    Sequencer sequencer(1, 2, sync_strategy(4, 2));
    sequencer.begin(1, 0);
    const auto next_of = [&](const PushId& push) {
      sequencer.held(0, held(push));
      return sequencer.next();
    };
    const auto granted = next_of({1, 100, 1});
    ASSERT_TRUE(granted);
    EXPECT_EQ(granted->kind, OrderKind::kAgain);
    by_seal ? sequencer.seal() : sequencer.stop();
    while (sequencer.next()) {
    }
    sequencer.fence(0, 50);
    sequencer.unseal();
    sequencer.unstop();
    while (sequencer.next()) {
    }
    for (const int trainer : {0, 1}) {
      const PushId first{trainer, trainer == 0 ? 51u : 100u, 2};
      const auto again = next_of(first);
      ASSERT_TRUE(again) << trainer;
      EXPECT_EQ(again->kind, OrderKind::kAgain);
      const auto last = next_of({trainer, first.incarnation, 3});
      ASSERT_EQ(last.has_value(), trainer == 1);
      EXPECT_EQ(last ? last->pushes.size() : 4, 4u);
    }
  }
}

}  // namespace
}  // namespace shoal::cluster
