// The simulation itself: what it promises to whoever trusts it.
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
    EXPECT_TRUE(run_plan(plan).violations.empty());
    RunOptions with;
    with.canary = Canary(canary);
    EXPECT_FALSE(run_plan(plan, with).violations.empty()) << to_string(Canary(canary));
  }
}

cluster::WitnessedUpdate update(int shard, uint64_t ordinal, uint64_t step) {
  return {.shard = shard,
          .server = 1,
          .epoch = 1,
          .trainer = 1,
          .process = 5,
          .sequence = ordinal,
          .ordinal = ordinal,
          .global_step = step};
}

TEST(Ledger, SeesWhatMayNotBe) {
  {
    Ledger ledger(1);
    ledger.activated(0, 1, 1, 10);
    ledger.applied(update(0, 1, 11));
    ledger.counted(update(0, 1, 11));
    ledger.applied(update(0, 2, 12));
    EXPECT_TRUE(ledger.violations().empty());
    EXPECT_EQ(ledger.last_step(), 12u);
    ledger.applied(update(0, 2, 13));
    EXPECT_FALSE(ledger.violations().empty()) << "applied twice";
  }
  {
    Ledger ledger(2);
    ledger.activated(1, 1, 1, 0);
    ledger.activated(0, 1, 1, 0);
    ledger.applied(update(0, 1, 1));
    EXPECT_EQ(ledger.torn(), 1);
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
    ledger.applied(update(0, 1, 2));
    EXPECT_FALSE(ledger.violations().empty()) << "the sum of updates is not the step";
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
}

TEST(Ledger, CountsAsTornWhatStaysTorn) {
  Ledger ledger(2);
  const auto activate = [&ledger](uint64_t epoch) {
    ledger.activated(1, 1, epoch, 0);
    ledger.activated(0, 1, epoch, 0);
  };
  const auto apply = [&ledger](uint64_t epoch, int shard, uint64_t process, uint64_t step) {
    cluster::WitnessedUpdate update{.shard = shard, .server = 1, .epoch = epoch, .trainer = 0, .process = process};
    update.sequence = update.ordinal = update.global_step = step;
    ledger.applied(update);
  };
  activate(1);
  apply(1, 1, 5, 1);
  EXPECT_EQ(ledger.torn(), 1);
  activate(2);
  EXPECT_EQ(ledger.torn(), 0) << "it was rolled back";
  apply(2, 1, 5, 1);
  apply(2, 0, 6, 1), apply(2, 1, 6, 1);  // another process of the trainer goes on from what is torn
  activate(3);
  EXPECT_EQ(ledger.torn(), 1);
  EXPECT_TRUE(ledger.violations().empty());
}

}  // namespace
}  // namespace shoal::simulation
