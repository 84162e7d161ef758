// SPDX-License-Identifier: Apache-2.0
#include "shoal/testing/world.h"

#include <gmock/gmock.h>

#include "shoal/checkpoint/directory.h"
#include "shoal/checkpoint/end_mark.h"
#include "small_job.h"

namespace shoal::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

int64_t newest_step(World& world, const std::string& folder = "/shared/model") {
  const auto list = value_or_raise(checkpoint::list(world.shared(), folder, checkpoint::Check::kChecksums));
  return list.empty() ? -1 : list.back().global_step;
}

void expect_all_well(World& world) {
  for (const std::string& task : world.tasks()) EXPECT_EQ(world.exit_status(task), 0) << world.report();
}

TEST(World, RunsAWholeClusterInVirtualTime) {
  World world({.seed = 1});
  world.add_cluster("ps:2,worker:2,evaluator", SmallJob{}, every_steps(20));
  world.at_step(20, [&world] { EXPECT_EQ(world.leftovers().size(), 6u); });  // They are five ports and the model_dir.
  ASSERT_TRUE(world.run()) << world.report();
  expect_all_well(world);
  EXPECT_TRUE(world.leftovers().empty());
  EXPECT_GE(world.global_step(), 60u);
  EXPECT_GE(newest_step(world), 60);
  EXPECT_GE(world.count_log("evaluator 0: evaluation: accuracy"), 1u);
}

TEST(World, RunsOneProcess) {
  World world({.seed = 1});
  world.add_process("alone", SmallJob{}, {.model_dir = "/home/model", .save_checkpoints_steps = 20});
  ASSERT_TRUE(world.run()) << world.report();
  expect_all_well(world);
  EXPECT_EQ(newest_step(world, "/home/model"), -1);  // It is not in the shared folder.
  EXPECT_EQ(value_or_raise(checkpoint::list(world.disk("alone"), "/home/model", checkpoint::Check::kChecksums))
                .back()
                .global_step,
            60);
}

uint64_t trace_of(uint64_t seed) {
  World world({.seed = seed});
  world.add_cluster("ps:2,worker:2,evaluator", SmallJob{}, every_steps(20));
  world.at_step(20, [&world] {
    world.kill("worker 1");
    world.after(2s, [&world] { world.start("worker 1"); });
  });
  EXPECT_TRUE(world.run()) << world.report();
  return world.trace();
}

TEST(World, TheSameSeedReplaysTheSameRun) {
  const uint64_t first = trace_of(5);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(trace_of(5), first);
  EXPECT_NE(trace_of(6), first);
}

TEST(World, AKilledWorkerIsStartedAgain) {
  World world({.seed = 2});
  world.add_cluster("ps:1,worker:1", SmallJob{}, every_steps(20));
  world.at_step(30, [&world] {
    world.kill("worker 0");
    EXPECT_FALSE(world.running("worker 0"));
    world.after(10ms, [&world] { world.start("worker 0"); });
  });
  ASSERT_TRUE(world.run()) << world.report();
  expect_all_well(world);
}

TEST(World, AProcessMayDieAtAnyMoment) {
  for (int i = 0; i < 60; ++i) {
    World world({.seed = 2, .work_jitter = 0ms});
    world.add_process("alone", SmallJob{.max_steps = 20}, {.model_dir = "/shared/model", .save_checkpoints_steps = 10});
    world.at(i * 500us, [&world] {
      world.kill("alone");
      world.after(1s, [&world] { world.start("alone"); });
    });
    ASSERT_TRUE(world.run()) << world.report();
    EXPECT_EQ(world.exit_status("alone"), 0) << "killed after " << i * 500 << " us\n" << world.report();
    EXPECT_EQ(newest_step(world), 20);
  }
}

TEST(World, AServerThatWasLostTakesTheJobBack) {  // CONTRACT FA-4, GS-3
  World world({.seed = 2});
  world.add_cluster("ps:2,worker:1", SmallJob{}, every_steps(20));
  world.at_step(35, [&world] {
    world.lose_power("ps 1");
    world.after(1s, [&world] { world.start("ps 1"); });
  });
  ASSERT_TRUE(world.run()) << world.report();
  expect_all_well(world);
  EXPECT_EQ(world.count_log("chief 0: global step goes back from "), 1u) << world.report();
  EXPECT_EQ(world.count_log("worker 0: global step goes back from "), 1u);
}

/// Where the global step fell for a trainer, from what to what.
class Falls final : public cluster::UpdateObserver {
 public:
  void stepped(int trainer, uint64_t step) override {
    uint64_t& before = steps_[trainer];
    if (step < before) falls[trainer].push_back(" from " + std::to_string(before) + " to " + std::to_string(step) + ":");
    before = step;
  }
  std::map<int, std::vector<std::string>> falls;

 private:
  std::map<int, uint64_t> steps_;
};

TEST(World, TheGlobalStepFallsOnlyWithALostServerAndALineSaysSo) {  // CONTRACT GS-3
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const auto observer = std::make_shared<Falls>();
    World world({.seed = seed, .observer = observer});
    world.add_cluster("ps:2,worker:1", SmallJob{}, every_steps(20));
    std::string to;
    world.at_step(30 + seed, [&world, &to] {
      to = " to " + std::to_string(newest_step(world)) + ":";
      world.kill("ps 1");
      world.after(1s, [&world] { world.start("ps 1"); });
    });
    ASSERT_TRUE(world.run()) << world.report();
    for (const int trainer : {0, 1}) {
      ASSERT_EQ(observer->falls[trainer].size(), 1u) << world.report();
      const std::string fall = observer->falls[trainer][0];
      EXPECT_TRUE(trainer != 0 || fall.ends_with(to)) << fall << to;  // A worker may come back some steps later.
      EXPECT_EQ(world.count_log((trainer == 0 ? "chief 0" : "worker 0") + (": global step goes back" + fall)), 1u)
          << fall << "\n"
          << world.report();
    }
  }
}

TEST(World, TheGlobalStepNeverFallsWhereNoServerIsLost) {  // CONTRACT GS-3
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const auto observer = std::make_shared<Falls>();
    World world({.seed = seed, .observer = observer});
    world.add_cluster("ps:2,worker:2", SmallJob{}, every_steps(20));
    world.at_step(10 + seed, [&world] { world.network().reset("worker 0", "ps 1"); });
    world.at_step(20 + seed, [&world] {
      world.kill("worker 1");
      world.after(1s, [&world] { world.start("worker 1"); });
    });
    world.at_step(30 + seed, [&world] {
      world.kill("chief 0");
      world.after(1s, [&world] { world.start("chief 0"); });
    });
    ASSERT_TRUE(world.run()) << world.report();
    expect_all_well(world);
    EXPECT_TRUE(observer->falls.empty()) << world.report();
    EXPECT_EQ(world.count_log("global step goes back"), 0u);
  }
}

TEST(World, AFrozenWorkerKeepsNobodyWaiting) {
  World world({.seed = 2});
  world.add_cluster("ps:1,worker:1", SmallJob{}, every_steps(20));
  world.at_step(30, [&world] { world.freeze("worker 0"); });
  world.after(100s, [&world] { world.thaw("worker 0"); });
  ASSERT_TRUE(world.run()) << world.report();
  expect_all_well(world);
  EXPECT_GT(world.elapsed(), 100s);
}

TEST(World, AnInterruptEndsTheJob) {  // CONTRACT FA-12
  World world({.seed = 2});
  world.add_cluster("ps:1,worker:1,evaluator", SmallJob{.max_steps = 100000}, every_steps(1000));
  world.at_step(50, [&world] { world.interrupt("chief 0"); });
  ASSERT_TRUE(world.run()) << world.report();
  expect_all_well(world);
  EXPECT_EQ(world.count_log("training finished at global step"), 2u);
  EXPECT_GE(newest_step(world), 50);
}

TEST(World, AnInterruptBeforeTheFirstStepEndsTheJobToo) {  // CONTRACT FA-12
  World world({.seed = 2});
  world.add_cluster("ps:2,worker:1,evaluator", SmallJob{}, every_steps(20));
  world.start_late("ps 1", 1h);
  world.at(10s, [&world] { world.interrupt("chief 0"); });
  world.run(1min);
  for (const char* task : {"chief 0", "ps 0", "worker 0", "evaluator 0"}) {
    EXPECT_FALSE(world.running(task)) << world.report();
    EXPECT_EQ(world.exit_status(task), 0) << world.report();
  }
  const auto mark = value_or_raise(checkpoint::read_end_mark(world.shared(), "/shared/model"));
  ASSERT_TRUE(mark);
  EXPECT_EQ(mark->reason, checkpoint::EndReason::kInterrupted);
}

TEST(World, AServerWithoutAModelLosesNothingByAnInterrupt) {  // CONTRACT FA-12
  const auto outcome = [](bool trains) {
    World world({.seed = 2});
    world.add_cluster("ps:1,worker:1", SmallJob{.max_steps = 100000}, every_steps(20));
    if (!trains) {
      world.start_late("chief 0", 1h);
      world.start_late("worker 0", 1h);
    }
    world.at(10s, [&world, trains] {
      if (trains) {
        world.kill("chief 0");
        world.kill("worker 0");
      }
      world.after(1s, [&world] { world.interrupt("ps 0"); });
    });
    world.run(1min);
    EXPECT_EQ(world.exit_status("ps 0"), 1) << world.report();
    const auto ended = world.outcome("ps 0");
    return ended ? std::string() : ended.error().message();
  };
  EXPECT_THAT(outcome(false), ::testing::HasSubstr("no chief or worker is there to end the job; no model was here yet, so "
                                                   "nothing is lost (status 1 says that the job, too, has not ended)"));
  EXPECT_THAT(outcome(true),
              ::testing::HasSubstr("no chief or worker is there to end the job; this server's state is lost"));
}

TEST(World, AnInterruptWithoutServersEndsTheJobWithItsLastCheckpoint) {  // CONTRACT FA-12, FA-4
  World world({.seed = 2});
  world.add_cluster("ps:2,worker:1", SmallJob{.max_steps = 100000}, every_steps(20));
  world.at_step(50, [&world] {
    world.kill("ps 1");
    world.after(1s, [&world] { world.interrupt("chief 0"); });
  });
  world.run(1min);
  for (const char* task : {"chief 0", "ps 0", "worker 0"}) EXPECT_FALSE(world.running(task)) << world.report();
  EXPECT_EQ(world.exit_status("chief 0"), 0) << world.report();
  EXPECT_EQ(world.count_log("the job ends with its last checkpoint, of global step"), 1u) << world.report();
  const auto mark = value_or_raise(checkpoint::read_end_mark(world.shared(), "/shared/model"));
  ASSERT_TRUE(mark);
  EXPECT_EQ(mark->global_step, newest_step(world));
}

TEST(World, AnErrorThatMayPassIsNotTheEndOfAJob) {  // CONTRACT FA-7
  World world({.seed = 2});
  world.add_cluster("ps:1,worker:1", SmallJob{.max_steps = 200}, every_steps(20));
  world.at_step(30, [&world] {
    world.kill("chief 0");
    world.shared().set_faults({.error = 1});
    world.start("chief 0");
    world.after(2s, [&world] {
      EXPECT_EQ(world.exit_status("chief 0"), 1) << world.report();
      EXPECT_THAT(world.outcome("chief 0").error().message(), HasSubstr("/shared/model"));
      world.shared().set_faults({});
      world.start("chief 0");
    });
  });
  ASSERT_TRUE(world.run()) << world.report();
  expect_all_well(world);
}

TEST(World, ADiskThatFillsUpEndsTheChiefWithTheReason) {  // CONTRACT FA-7
  World world({.seed = 2});
  world.add_cluster("ps:1", SmallJob{}, every_steps(20));
  world.at_step(30, [&world] { world.shared().set_capacity(0); });
  world.run(10min);
  EXPECT_EQ(world.exit_status("chief 0"), 1) << world.report();
  EXPECT_THAT(world.outcome("chief 0").error().message(), HasSubstr("No space left on device"));
  EXPECT_EQ(newest_step(world), 20);
}

TEST(World, WorkersStartLateWhereTheyAreTold) {  // CONTRACT WO-2
  class FirstSteps final : public cluster::UpdateObserver {
   public:
    void counted(const cluster::ObservedUpdate& update) override { first.try_emplace(update.trainer, world->elapsed()); }
    std::map<int, Duration> first;
    World* world = nullptr;
  };
  for (const auto& [most, delays] :
       std::map<int64_t, std::vector<int>>{{60, {5, 10, 15, 60}}, {0, {0, 0, 0, 0}}, {7, {5, 7, 7, 7}}}) {
    const auto observer = std::make_shared<FirstSteps>();
    World world({.seed = 2, .work = 200ms, .observer = observer});
    observer->world = &world;
    RunConfigOptions config = every_steps(0);
    config.max_worker_delay_secs = most;
    config.save_checkpoints_secs = 1000;
    config.save_checkpoints_steps = Setting<int64_t>();
    world.add_cluster("ps:1,worker:13", SmallJob{.max_steps = 200000}, config);
    world.at(80s, [&world] { world.interrupt("chief 0"); });
    ASSERT_TRUE(world.run()) << world.report();
    const int workers[] = {0, 1, 2, 12};
    for (size_t i = 0; i < 4; ++i) {
      ASSERT_TRUE(observer->first.contains(workers[i] + 1)) << world.report();
      EXPECT_NEAR(to_seconds(observer->first.at(workers[i] + 1)), delays[i], 2)
          << "worker " << workers[i] << " of at most " << most;
    }
  }
}

TEST(World, WorkersDoNotWaitUnlessTheyAreTold) {  // CONTRACT WO-2
  World world({.seed = 2});
  world.add_cluster("ps:1,worker:2", SmallJob{}, every_steps(20));
  ASSERT_TRUE(world.run()) << world.report();
  expect_all_well(world);
  EXPECT_EQ(world.count_log("before the first batch, so that workers start one by one"), 0u) << world.report();
  EXPECT_LT(world.elapsed(), 5s);
}

TEST(World, SaysWhichTaskDoesNotExist) {
  World world;
  world.add_process("alone", SmallJob{});
  EXPECT_THROW(world.kill("worker 7"), Exception);
  EXPECT_THROW(world.add_process("alone", SmallJob{}), Exception);
  EXPECT_THROW(world.add_cluster("nonsense", SmallJob{}), Exception);
}

}  // namespace
}  // namespace shoal::testing
