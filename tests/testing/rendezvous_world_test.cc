// SPDX-License-Identifier: Apache-2.0
// Whole jobs whose tasks know rank, size and one address: they meet, train, and are started again (CONTRACT LA-2, FA-2).
#include <gmock/gmock.h>

#include "shoal/testing/world.h"
#include "small_job.h"

namespace shoal::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kRanks = 6;  // A chief, two servers, two workers, an evaluator.

std::string rank(int number) { return "rank " + std::to_string(number); }

void add_ranks(World& world, const SmallJob& job, RunConfigOptions config = every_steps(10), int missing = -1) {
  for (int i = 0; i < kRanks; ++i) {
    if (i == missing) continue;
    world.add_rank(rank(i),
                   {{"SHOAL_RANK", std::to_string(i)},
                    {"SHOAL_WORLD_SIZE", std::to_string(kRanks)},
                    {"SHOAL_RENDEZVOUS", "job:4000"},
                    {"SHOAL_PS", "2"},
                    {"SHOAL_EVALUATOR", "1"}},
                   job, config);
  }
}

void expect_all_end(World& world) {
  for (const std::string& task : world.tasks()) EXPECT_EQ(world.exit_status(task), 0) << task << "\n" << world.report();
  EXPECT_TRUE(world.leftovers().empty()) << ::testing::PrintToString(world.leftovers());
}

class RanksInAWorld : public ::testing::TestWithParam<uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, RanksInAWorld, ::testing::Values(1, 2, 3));

TEST_P(RanksInAWorld, TrainInAnyOrderOfStart) {
  World world({.seed = GetParam()});
  add_ranks(world, SmallJob{});
  for (int i = 0; i < kRanks; ++i) world.start_late(rank(i), std::chrono::seconds((i * 7 + int(GetParam()) * 3) % 11));
  ASSERT_TRUE(world.run()) << world.report();
  expect_all_end(world);
  EXPECT_GE(world.global_step(), 60u);
  EXPECT_EQ(world.count_log("option: rank 4 of 6 is worker 1"), 1u);
}

TEST_P(RanksInAWorld, GoOnWhereTheyWereAfterKills) {
  World world({.seed = GetParam(), .work = 20ms});
  add_ranks(world, SmallJob{.max_steps = 200});
  uint64_t step = 20;
  for (const int killed : {0, 1, 4, 0, 5}) {  // The chief, a server, a worker, the chief again, the evaluator.
    world.at_step(step, [&world, killed] {
      world.kill(rank(killed));
      world.after(2s, [&world, killed] { world.start(rank(killed)); });
    });
    step += 30;
  }
  ASSERT_TRUE(world.run()) << world.report();
  expect_all_end(world);
  EXPECT_EQ(world.count_log("knows this job; everybody's address is as before"), 2u) << world.report();
}

TEST(RankInAWorld, OfTheChiefComesBackTogetherWithAnother) {
  World world({.work = 20ms});
  add_ranks(world, SmallJob{.max_steps = 150});
  world.at_step(40, [&world] {
    for (const int killed : {0, 2}) world.kill(rank(killed));
    world.after(3s, [&world] { world.start(rank(2)); });
    world.after(6s, [&world] { world.start(rank(0)); });
  });
  ASSERT_TRUE(world.run()) << world.report();
  expect_all_end(world);
}

TEST(RankInAWorld, ThatIsMissingIsNamedAtTheDeadline) {
  World world;
  RunConfigOptions config = every_steps(10);
  config.ready_timeout_secs = 90;
  add_ranks(world, SmallJob{}, config, 3);
  ASSERT_TRUE(world.run()) << world.report();
  for (const std::string& task : world.tasks()) {
    EXPECT_EQ(world.exit_status(task), 5) << task;
    EXPECT_THAT(world.outcome(task).error().message(), HasSubstr("rank 3 (worker 0)")) << task;
  }
  EXPECT_LT(world.elapsed(), 100s);
  EXPECT_TRUE(world.leftovers().empty());
}

TEST(RankInAWorld, ThatTwoTasksHaveIsRefused) {
  World world({.work = 100ms});
  add_ranks(world, SmallJob{});
  std::string second;
  world.at_step(10, [&world, &second] { second = world.start_second(rank(4)); });
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.exit_status(second), 2);
  EXPECT_THAT(world.outcome(second).error().message(),
              AllOf(HasSubstr("rank 4 (worker 1)"), HasSubstr("two tasks have one rank")));
  for (int i = 0; i < kRanks; ++i) EXPECT_EQ(world.exit_status(rank(i)), 0) << i;
}

/// The job has ended, and each of its ranks is started once more, as an engine does with a pod that it takes for failed.
TEST(RankInAWorld, ThatIsStartedAfterTheEndOfItsStartEndsByTheMark) {  // CONTRACT WO-4
  World world;
  add_ranks(world, SmallJob{});
  for (int i = 0; i < kRanks; ++i) world.set_shoal_run(rank(i), "night 7");
  ASSERT_TRUE(world.run()) << world.report();
  expect_all_end(world);
  for (int i = 0; i < kRanks; ++i) {
    const Duration before = world.elapsed();
    world.start(rank(i));
    ASSERT_TRUE(world.run(world.elapsed() + 10min)) << rank(i) << world.report();
    EXPECT_EQ(world.exit_status(rank(i)), 0) << rank(i) << world.report();
    EXPECT_LT(world.elapsed() - before, 1min) << rank(i) << world.report();
  }
  EXPECT_EQ(world.count_log("training finished before this task arrived"), size_t(kRanks - 1)) << world.report();
}

TEST(RankInAWorld, OfTheEvaluatorMakesTheEvaluationThatIsMissing) {
  World world;
  add_ranks(world, SmallJob{});
  for (int i = 0; i < kRanks; ++i) world.set_shoal_run(rank(i), "night 7");
  world.at_step(40, [&world] { world.kill(rank(5)); });
  ASSERT_TRUE(world.run()) << world.report();
  ASSERT_TRUE(world.shared().remove_all("/shared/model/eval"));
  world.start(rank(5));
  ASSERT_TRUE(world.run(world.elapsed() + 10min)) << world.report();
  EXPECT_EQ(world.exit_status(rank(5)), 0) << world.report();
  EXPECT_TRUE(world.shared().exists("/shared/model/eval"));
}

/// Nothing says that the mark is of this start, so that its chief may still come.
TEST(RankInAWorld, WaitsForAChiefWhereTheMarkMayBeAnOldOne) {
  World world;
  RunConfigOptions config = every_steps(10);
  config.ready_timeout_secs = 90;
  add_ranks(world, SmallJob{.max_steps = 60}, config);
  ASSERT_TRUE(world.run()) << world.report();
  const Duration before = world.elapsed();
  world.start(rank(4));
  ASSERT_TRUE(world.run(world.elapsed() + 10min)) << world.report();
  EXPECT_EQ(world.exit_status(rank(4)), 0) << world.report();
  EXPECT_GT(world.elapsed() - before, 60s);
}

}  // namespace
}  // namespace shoal::testing
