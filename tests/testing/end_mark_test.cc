// SPDX-License-Identifier: Apache-2.0
// Who obeys the mark of an ended run, and when, in virtual time (CONTRACT JE-2).
#include <gmock/gmock.h>

#include "shoal/checkpoint/end_mark.h"
#include "shoal/testing/world.h"
#include "small_job.h"

namespace shoal::testing {
namespace {

using namespace std::chrono_literals;

const std::string kCluster =
    R"({"cluster": {"chief": ["chief-0:1"], "worker": ["worker-0:1"], "ps": ["ps-0:1"]}, "task": )";
const std::string kWorker = kCluster + R"({"type": "worker", "index": 0}})";
const std::string kServer = kCluster + R"({"type": "ps", "index": 0}})";
const std::string kEvaluator = kCluster + R"({"type": "evaluator", "index": 0}})";

RunConfigOptions in_shared_model(double ready_timeout_secs = 7200) {
  RunConfigOptions config = every_steps(10);
  config.model_dir = "/shared/model";
  config.ready_timeout_secs = ready_timeout_secs;
  return config;
}

std::optional<checkpoint::EndMark> mark_in(World& world) {
  return value_or_raise(checkpoint::read_end_mark(world.shared(), "/shared/model"));
}

void expect_all_ended_well(World& world) {
  for (const std::string& task : world.tasks()) EXPECT_EQ(world.exit_status(task), 0) << world.report();
}

TEST(EndMark, CarriesTheNumberOfItsRun) {
  World world;
  const auto add = [&world](const std::string& name, int64_t max_steps, Duration start) {
    world.add_process(name, SmallJob{.max_steps = max_steps}, in_shared_model());
    world.start_late(name, start);
  };
  add("first", 20, 0s);
  add("dies", 1000, 10s);
  add("third", 1040, 30s);
  add("has nothing to do", 1040, 60s);
  world.at_step(30, [&world] {
    // The second run removed the first one's mark, and leaves none of its own.
    EXPECT_EQ(mark_in(world), std::nullopt);
    world.kill("dies");
  });
  world.at(9s, [&world] { EXPECT_EQ(mark_in(world).value().run, 1); });
  world.at(59s, [&world] { EXPECT_EQ(mark_in(world).value().run, 3); });
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(mark_in(world).value().run, 3);
  EXPECT_EQ(mark_in(world).value().shoal_run, "");
}

TEST(EndMark, IsWrittenWithTheNumberOfTheRunThatDiedBeforeIt) {
  World world;
  world.add_process("first", SmallJob{.max_steps = 20}, in_shared_model());
  world.add_process("again", SmallJob{.max_steps = 20}, in_shared_model());
  world.set_shoal_run("again", "night 2");
  world.start_late("again", 10s);
  world.at(9s, [&world] { value_or_raise(checkpoint::remove_end_mark(world.shared(), "/shared/model")); });
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(mark_in(world).value().run, 1);
  EXPECT_EQ(mark_in(world).value().shoal_run, "night 2");
}

TEST(EndMark, IsNotRemovedOnAFullDiskWhichAnotherStartMayFindEmptier) {  // CONTRACT FA-7, FA-9
  World world;
  world.add_process("first", SmallJob{.max_steps = 20}, in_shared_model());
  world.add_process("second", SmallJob{.max_steps = 40}, in_shared_model());
  world.start_late("second", 10s);
  world.at(9s, [&world] { world.shared().set_capacity(world.shared().used_bytes()); });
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.exit_status("second"), 1) << world.report();
  EXPECT_EQ(mark_in(world).value().run, 1);
}

/// A job that ended at step 20, as run "night 1" of a launcher; then each of the others starts, and no chief.
struct AfterTheEnd {
  explicit AfterTheEnd(double ready_timeout_secs = 7200) : config(in_shared_model(ready_timeout_secs)) {
    world.add_process("before", SmallJob{.max_steps = 20}, config);
    world.set_shoal_run("before", "night 1");
  }
  void add(const std::string& name, const std::string& tf_config, SmallJob job, const std::string& shoal_run = "") {
    world.add_task(name, tf_config, job, config);
    world.set_shoal_run(name, shoal_run);
    world.start_late(name, 10s);
  }
  void add_all(SmallJob job, const std::string& shoal_run = "") {
    add("worker 0", kWorker, job, shoal_run);
    add("ps 0", kServer, job, shoal_run);
    add("evaluator 0", kEvaluator, job, shoal_run);
  }

  World world;
  RunConfigOptions config;
};

TEST(EndMark, OfTheSameLauncherIsObeyed) {
  AfterTheEnd after;
  after.add_all({.max_steps = 40}, "night 1");
  ASSERT_TRUE(after.world.run()) << after.world.report();
  expect_all_ended_well(after.world);
  EXPECT_LT(after.world.elapsed(), 90s) << after.world.report();  // The server gives a chief a minute to come back.
  EXPECT_EQ(after.world.count_log("was left by a run"), 0u);
}

/// A cluster of a launcher's run "night 1" that was interrupted, or came to the end of its input; then its chief is started
/// once more, alone.
struct ChiefAfterTheEnd {
  explicit ChiefAfterTheEnd(const std::string& run_of_the_second, bool interrupted = true) {
    world.add_cluster("ps:1,worker:1", SmallJob{.max_steps = 4000, .passes = interrupted ? 0 : 2}, in_shared_model(60));
    for (const std::string& task : world.tasks()) world.set_shoal_run(task, "night 1");
    if (interrupted) {
      world.at_step(30, [this] {
        for (const std::string& task : world.tasks()) world.interrupt(task);
      });
    }
    EXPECT_TRUE(world.run()) << world.report();
    expect_all_ended_well(world);
    step = value_or_raise(checkpoint::read_end_mark(world.shared(), "/shared/model")).value().global_step;
    world.set_shoal_run("chief 0", run_of_the_second);
    world.start("chief 0");
    EXPECT_TRUE(world.run()) << world.report();
  }

  World world;
  int64_t step = 0;
};

TEST(EndMark, OfAnInterruptSendsItsOwnChiefHome) {
  ChiefAfterTheEnd after("night 1");
  EXPECT_EQ(after.world.exit_status("chief 0"), 0) << after.world.report();
  EXPECT_EQ(after.world.count_log("the start night 1 (SHOAL_RUN) has ended at global step " + std::to_string(after.step) +
                                  " (interrupted)"),
            1u)
      << after.world.report();
  const checkpoint::EndMark mark = mark_in(after.world).value();
  EXPECT_EQ(mark.run, 1);
  EXPECT_EQ(mark.reason, checkpoint::EndReason::kInterrupted);
  EXPECT_EQ(mark.global_step, after.step);
}

/// Evaluators and servers took it as the end: what its chief did behind it, nobody would see.
TEST(EndMark, OfTheEndOfItsInputSendsItsOwnChiefHome) {
  ChiefAfterTheEnd after("night 1", false);
  EXPECT_EQ(after.world.exit_status("chief 0"), 0) << after.world.report();
  EXPECT_EQ(after.world.count_log("the start night 1 (SHOAL_RUN) has ended at global step 32 (end_of_input)"), 1u)
      << after.world.report();
  const checkpoint::EndMark mark = mark_in(after.world).value();
  EXPECT_EQ(mark.run, 1);
  EXPECT_EQ(mark.reason, checkpoint::EndReason::kEndOfInput);
  EXPECT_EQ(mark.global_step, 32);
}

/// The servers of a finished job are gone, and a chief that is started again waits for them no longer than it was told.
TEST(EndMark, AChiefInAFinishedFolderWaitsForNoServerLongerThanTheTimeout) {  // CONTRACT DI-3, FA-3
  AfterTheEnd after(2);
  after.world.add_task("chief 0", kCluster + R"({"type": "chief", "index": 0}})", SmallJob{.max_steps = 20}, after.config);
  after.world.start_late("chief 0", 10s);
  ASSERT_TRUE(after.world.run()) << after.world.report();
  expect_all_ended_well(after.world);
  EXPECT_LT(after.world.elapsed(), 15s) << after.world.report();
}

TEST(EndMark, OfAnInterruptIsNoMatterToTheChiefOfAnotherRun) {
  for (const std::string run : {"night 2", ""}) {
    ChiefAfterTheEnd after(run);
    // The chief waits for servers, which are not there. Until they let it lead it changes nothing (CONTRACT FA-11).
    EXPECT_EQ(after.world.exit_status("chief 0"), 5) << after.world.report();
    EXPECT_EQ(after.world.count_log("(SHOAL_RUN) has ended"), 0u) << "run '" << run << "'";
    EXPECT_EQ(mark_in(after.world).value().run, 1) << "run '" << run << "'";
  }
}

TEST(EndMark, OfAnotherLauncherIsNot) {
  AfterTheEnd after;
  after.add_all({.max_steps = 40}, "night 2");
  after.world.run_for(600s);
  for (const char* task : {"worker 0", "ps 0", "evaluator 0"})
    EXPECT_TRUE(after.world.running(task)) << after.world.report();
}

/// A network file system may show an old mark only after the start, as if it had been written since.
TEST(EndMark, OfAnotherLauncherThatIsSeenLateIsNot) {
  AfterTheEnd after;
  World& world = after.world;
  world.add_task("evaluator 0", kEvaluator, SmallJob{.max_steps = 40}, after.config);
  world.set_shoal_run("evaluator 0", "night 1");
  world.see_shared_late("evaluator 0", 10s);
  world.run_for(10ms);
  world.kill("evaluator 0");
  ASSERT_FALSE(mark_in(world));
  world.run_for(5s);
  ASSERT_TRUE(mark_in(world));  // Its host sees the mark five seconds from now.
  world.set_shoal_run("evaluator 0", "night 2");
  world.start("evaluator 0");
  world.run_for(600s);
  EXPECT_TRUE(world.running("evaluator 0")) << world.report();
}

TEST(EndMark, ThatMeetsMaxStepsIsObeyed) {
  AfterTheEnd after;
  after.add_all({.max_steps = 20});
  ASSERT_TRUE(after.world.run()) << after.world.report();
  expect_all_ended_well(after.world);
  EXPECT_LT(after.world.elapsed(), 90s) << after.world.report();
}

TEST(EndMark, IsObeyedByAServerThatIsAlone) {
  for (const auto& [max_steps, shoal_run] : std::map<int64_t, std::string>{{20, ""}, {40, "night 1"}}) {
    AfterTheEnd after;
    after.add("ps 0", kServer, {.max_steps = max_steps}, shoal_run);
    ASSERT_TRUE(after.world.run()) << after.world.report();
    EXPECT_EQ(after.world.exit_status("ps 0"), 0) << after.world.report();
    EXPECT_NEAR(to_seconds(after.world.elapsed()), 70, 2);
    EXPECT_EQ(after.world.count_log("the job has ended, and nobody is here"), 1u) << after.world.report();
  }
}

TEST(EndMark, OfAnEarlierRunEndsAWaitWithoutAChief) {
  AfterTheEnd after(100);
  after.add_all({.max_steps = 40});
  ASSERT_TRUE(after.world.run()) << after.world.report();
  expect_all_ended_well(after.world);
  EXPECT_GT(after.world.elapsed(), 100s);
  EXPECT_LT(after.world.elapsed(), 220s) << after.world.report();  // The server is alone once the worker has gone.
  EXPECT_EQ(after.world.count_log("was left by a run that ended at global step 20; without a chief this task ends in 98 s"),
            2u)
      << after.world.report();  // The server, which had company, does not say so.
  EXPECT_EQ(
      after.world.count_log("no chief has come within 98 s: this task ends, since /shared/model was left by a run that "
                            "ended at global step 20 (max_steps)"),
      3u)
      << after.world.report();
}

TEST(EndMark, OfAnEarlierRunEndsTheWaitOfAServerThatIsAlone) {
  AfterTheEnd after(100);
  after.add("ps 0", kServer, {.max_steps = 40});
  ASSERT_TRUE(after.world.run()) << after.world.report();
  EXPECT_EQ(after.world.exit_status("ps 0"), 0) << after.world.report();
  EXPECT_NEAR(to_seconds(after.world.elapsed()), 108, 2);
  EXPECT_EQ(after.world.count_log("without a chief this task ends in 48 s"), 1u) << after.world.report();
  EXPECT_EQ(after.world.count_log("no chief has come within 98 s: this task ends"), 1u) << after.world.report();
}

TEST(EndMark, KeepsNoServerFromWaitingForALateChief) {
  AfterTheEnd after;
  after.add("ps 0", kServer, {.max_steps = 40});
  after.world.add_task("chief 0", kCluster + R"({"type": "chief", "index": 0}})", SmallJob{.max_steps = 40}, after.config);
  after.world.start_late("chief 0", 1000s);
  ASSERT_TRUE(after.world.run()) << after.world.report();
  expect_all_ended_well(after.world);
  EXPECT_EQ(mark_in(after.world).value().run, 2);
  EXPECT_EQ(mark_in(after.world).value().global_step, 40);
}

TEST(EndMark, ThatAServerCannotSeeLeavesItWaiting) {  // CONTRACT PS-3
  AfterTheEnd after(100);
  after.add("ps 0", kServer, {.max_steps = 20});
  after.world.cut_off_shared("ps 0", true);
  ASSERT_TRUE(after.world.run()) << after.world.report();
  EXPECT_EQ(after.world.exit_status("ps 0"), 5) << after.world.report();
}

TEST(EndMark, OfAChiefThatWasKilledBehindItDoesNotTakeItsServersAway) {
  World world({.work = 20ms, .work_jitter = 0ms});
  world.add_cluster("ps:1", SmallJob{.max_steps = {}, .passes = 4}, in_shared_model());
  bool killed = false;
  std::function<void()> watch = [&] {  // It looks until the mark is there, and the servers are not told yet.
    killed = mark_in(world).has_value();
    if (killed) return world.kill("chief 0");
    if (world.elapsed() < 1h) world.after(1ms, watch);
  };
  world.at_step(30, watch);
  world.run_for(30s);
  ASSERT_TRUE(killed);
  ASSERT_TRUE(world.running("ps 0")) << world.report();
  world.after(90s, [&world] { world.start("chief 0"); });
  ASSERT_TRUE(world.run()) << world.report();
  expect_all_ended_well(world);
  EXPECT_EQ(mark_in(world).value().run, 2);
}

}  // namespace
}  // namespace shoal::testing
