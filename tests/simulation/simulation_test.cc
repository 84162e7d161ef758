// SPDX-License-Identifier: Apache-2.0
// The simulation itself: what it promises to whoever trusts it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "canary.h"
#include "ledger.h"
#include "run.h"

namespace shoal::simulation {
namespace {

TEST(Simulation, TheSameSeedIsTheSamePlanAndTheSameRun) {
  for (const uint64_t seed : {3, 8, 21}) {
    EXPECT_EQ(to_string(draw_plan(seed)), to_string(draw_plan(seed)));
    const uint64_t trace = run_plan(draw_plan(seed)).trace;
    for (int i = 0; i < 19; ++i) EXPECT_EQ(run_plan(draw_plan(seed)).trace, trace) << "seed " << seed;
  }
  EXPECT_NE(to_string(draw_plan(3)), to_string(draw_plan(8)));
}

TEST(Simulation, PlantedDefectsAreFound) {
  for (uint64_t canary = 0; canary < kCanaries; ++canary) {
    const Plan plan = canary_plan(Canary(canary), 7);
    EXPECT_THAT(run_plan(plan).violations, ::testing::IsEmpty()) << to_string(Canary(canary));
    RunOptions with;
    with.canary = Canary(canary);
    EXPECT_FALSE(run_plan(plan, with).violations.empty()) << to_string(Canary(canary));
  }
}

/// A commit of its own, from step `base` on.
cluster::ObservedUpdate update(int shard, uint64_t ordinal, uint64_t step, uint64_t base = 0) {
  return {.shard = shard,
          .server = 1,
          .epoch = 1,
          .made_in_epoch = 1,
          .trainer = 1,
          .process = 5,
          .sequence = ordinal,
          .ordinal = ordinal,
          .commit = step - base + 1,
          .global_step = step};
}

TEST(Ledger, SeesWhatMayNotBe) {
  {
    Ledger ledger(1);
    ledger.activated(0, 1, 1, 10);
    ledger.applied(update(0, 1, 11, 10));
    ledger.counted(update(0, 1, 11, 10));
    ledger.applied(update(0, 2, 12, 10));
    EXPECT_TRUE(ledger.violations().empty());
    EXPECT_EQ(ledger.last_step(), 12u);
    ledger.applied(update(0, 2, 13, 10));
    EXPECT_FALSE(ledger.violations().empty()) << "applied twice";
  }
  {
    Ledger ledger(2);
    ledger.activated(1, 1, 1, 0);
    ledger.activated(0, 1, 1, 0);
    ledger.applied(update(0, 1, 1));
    EXPECT_NE(ledger.apart(), "");
    ledger.counted(update(0, 1, 1));
    EXPECT_FALSE(ledger.violations().empty()) << "answered, and not on shard 1";
  }
  {
    Ledger ledger(1);
    ledger.applied(update(0, 1, 1));
    EXPECT_FALSE(ledger.violations().empty()) << "an epoch that nobody began";
  }
  {
    Ledger ledger(1);
    ledger.activated(0, 1, 1, 0);
    ledger.applied(update(0, 1, 1));
    ledger.applied(update(0, 3, 2));
    EXPECT_FALSE(ledger.violations().empty()) << "a batch was left out";
  }
  {
    Ledger ledger(1);
    ledger.activated(0, 1, 1, 0);
    ledger.applied(update(0, 1, 2, 1));
    EXPECT_FALSE(ledger.violations().empty()) << "commits since the restore are not the step";
  }
  {
    Ledger ledger(1);
    ledger.activated(0, 1, 1, 0);
    ledger.activated(0, 2, 2, 0);
    EXPECT_TRUE(ledger.violations().empty());
    ledger.activated(0, 3, 1, 0);
    EXPECT_FALSE(ledger.violations().empty()) << "an epoch came twice";
  }
  {
    Ledger ledger(1);
    ledger.activated(0, 1, 1, 0);
    ledger.activated(0, 1, 2, 0);
    ledger.applied(update(0, 1, 1));
    EXPECT_FALSE(ledger.violations().empty()) << "of an epoch that is over";
  }
  {
    Ledger ledger(1);
    ledger.activated(0, 1, 1, 0);
    cluster::ObservedUpdate late = update(0, 1, 1);
    late.made_in_epoch = 2;
    ledger.applied(late);
    EXPECT_FALSE(ledger.violations().empty()) << "made of weights of another epoch";
  }
}

TEST(Ledger, KnowsWhoseShareTheOthersMayMake) {
  Ledger ledger(1);
  ledger.activated(0, 1, 1, 0);
  ledger.ended(2, 20);
  ledger.activated(0, 1, 2, 20);
  ledger.replaced(2);
  EXPECT_TRUE(ledger.violations().empty()) << "the checkpoint may be of the moment before it said so";
  EXPECT_TRUE(ledger.somebody_was_replaced());
  ledger.ended(1, 30);
  ledger.activated(0, 1, 3, 31);
  ledger.replaced(1);
  EXPECT_FALSE(ledger.violations().empty());
}

/// Two shards, and what each applies: (commit, trainer).
class Chains : public testing::Test {
 protected:
  void SetUp() override {
    for (const int shard : {1, 0}) ledger_.activated(shard, 1, 1, 0);
  }
  void apply(int shard, uint64_t commit, int trainer) {
    ledger_.applied({.shard = shard,
                     .server = 1,
                     .epoch = 1,
                     .made_in_epoch = 1,
                     .trainer = trainer,
                     .process = 5,
                     .sequence = commit,
                     .ordinal = ordinals_[{shard, trainer}]++,
                     .commit = commit,
                     .global_step = commit - 1});
  }
  Ledger ledger_{2};
  std::map<std::pair<int, int>, uint64_t> ordinals_;
};

TEST_F(Chains, AreTheSameOnAllShards) {
  for (const int shard : {0, 1}) {
    apply(shard, 2, 0), apply(shard, 2, 1);
    apply(shard, 3, 1);
  }
  EXPECT_TRUE(ledger_.violations().empty()) << ledger_.violations().front();
  EXPECT_EQ(ledger_.apart(), "");
  EXPECT_EQ(ledger_.last_step(), 2u);
}

TEST_F(Chains, DifferInTheirContributors) {
  apply(0, 2, 0);
  apply(1, 2, 1);
  EXPECT_FALSE(ledger_.violations().empty());
}

TEST_F(Chains, DifferInTheOrderOfContributors) {
  apply(0, 2, 0), apply(0, 2, 1);
  apply(1, 2, 1), apply(1, 2, 0);
  EXPECT_FALSE(ledger_.violations().empty());
}

TEST_F(Chains, LeaveACommitOut) {
  apply(0, 3, 0);
  EXPECT_FALSE(ledger_.violations().empty());
}

TEST_F(Chains, EndWithDifferentCommits) {
  apply(0, 2, 0);
  EXPECT_NE(ledger_.apart(), "");
  apply(1, 2, 0);
  EXPECT_EQ(ledger_.apart(), "");
  apply(0, 3, 0), apply(0, 3, 1), apply(1, 3, 0);
  EXPECT_NE(ledger_.apart(), "") << "a part of a commit";
}

}  // namespace
}  // namespace shoal::simulation
