// SPDX-License-Identifier: Apache-2.0
// How jobs of several tasks end, in virtual time.
#include <gmock/gmock.h>

#include "shoal/checkpoint/directory.h"
#include "shoal/checkpoint/end_mark.h"
#include "shoal/testing/world.h"
#include "small_job.h"

namespace shoal::testing {
namespace {

using namespace std::chrono_literals;

int64_t newest_step(World& world) {
  return value_or_raise(checkpoint::list(world.shared(), "/shared/model", checkpoint::Check::kChecksums))
      .back()
      .global_step;
}

/// The furthest step that a trainer was told its update made.
class LastCounted final : public cluster::UpdateObserver {
 public:
  void counted(const cluster::ObservedUpdate& update) override { step = std::max(step, update.global_step); }
  uint64_t step = 0;
};

TEST(JobEnd, NoUpdateThatWasAnsweredIsMissingInTheLastCheckpoint) {
  for (int i = 0; i < 40; ++i) {  // The worker comes back at one moment or another of the last save.
    const auto observer = std::make_shared<LastCounted>();
    World world({.seed = 9, .work = 100ms, .work_jitter = 0ms, .observer = observer});
    world.add_cluster("ps:1,worker:1", SmallJob{.max_steps = 30}, every_steps(1000));
    world.at_step(20, [&world] { world.freeze("worker 0"); });
    world.at_step(30, [&world, i] { world.after(9s + i * 50ms, [&world] { world.thaw("worker 0"); }); });
    ASSERT_TRUE(world.run()) << world.report();
    EXPECT_EQ(uint64_t(newest_step(world)), observer->step) << "thawed " << i * 50 << " ms later\n" << world.report();
  }
}

TEST(JobEnd, AChiefThatComesBackAtTheLastStepWritesOneCheckpointThere) {
  int written_twice = 0;
  for (int i = 0; i < 40; ++i) {
    World world({.seed = 9, .work = 20ms, .work_jitter = 0ms});
    world.add_cluster("ps:1,worker:1,evaluator", SmallJob{.max_steps = 30}, every_steps(1000));
    world.at_step(20, [&world] { world.freeze("worker 0"); });
    world.at_step(30, [&world, i] {
      world.after(i * 10ms, [&world] {
        world.kill("chief 0");
        world.after(1s, [&world] { world.start("chief 0"); });
      });
      world.after(5s, [&world] { world.thaw("worker 0"); });
    });
    ASSERT_TRUE(world.run()) << world.report();
    const std::string last = "evaluation: accuracy";
    EXPECT_EQ(world.exit_status("evaluator 0"), 0);
    EXPECT_GE(world.count_log("global_step = " + std::to_string(newest_step(world))), 1u) << world.report();
    written_twice += world.count_log(" written at global step 3") > 1;
  }
  EXPECT_EQ(written_twice, 0);
}

TEST(JobEnd, AChiefThatComesBackAfterTheEndWaitsNoMinuteForServersThatAreGone) {
  World world({.seed = 9});
  world.add_cluster("ps:1,worker:1", SmallJob{.max_steps = 30}, every_steps(1000));
  world.at(60s, [&world] {
    EXPECT_FALSE(world.running("ps 0")) << world.report();
    world.start("chief 0");
  });
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.exit_status("chief 0"), 0) << world.report();
  EXPECT_EQ(world.count_log("training finished before"), 1u) << world.report();
  EXPECT_LT(world.elapsed(), 60s + 20s) << world.report();
}

/// Asks to stop once a checkpoint has this step.
class StopsAt final : public CheckpointListener {
 public:
  explicit StopsAt(uint64_t step) : step_(step) {}
  bool after_save(RunContext&, uint64_t step, const std::string&) override { return step >= step_; }

 private:
  uint64_t step_;
};

/// A chief that is killed inside its first and last save leaves this behind: the index is there, and nothing says that
/// it is the newest.
TEST(JobEnd, ALostListIsWrittenAnewThoughNothingIsLeftToTrain) {
  World world({.seed = 3});
  world.add_cluster("ps:1,worker:1", SmallJob{.max_steps = 40}, every_steps(20));
  ASSERT_TRUE(world.run()) << world.report();
  const std::string newest = value_or_raise(checkpoint::read_pointer(world.shared(), "/shared/model"))->newest;
  value_or_raise(world.shared().remove("/shared/model/checkpoint"));
  for (const std::string& task : world.tasks()) world.start(task);
  ASSERT_TRUE(world.run()) << world.report();
  for (const std::string& task : world.tasks()) EXPECT_EQ(world.exit_status(task), 0) << world.report();
  const auto pointer = value_or_raise(checkpoint::read_pointer(world.shared(), "/shared/model"));
  ASSERT_TRUE(pointer) << world.report();
  EXPECT_EQ(pointer->newest, newest);
}

TEST(JobEnd, AListenerMayStopTheJobWhileTheChiefWaitsForItsWorkers) {
  World world({.seed = 9});
  world.add_task(
      "chief 0",
      R"({"cluster": {"chief": ["chief-0:1"], "worker": ["worker-0:1"], "ps": ["ps-0:1"]}, "task": {"type": "chief", "index": 0}})",
      SmallJob{.max_steps = {}, .passes = 1, .listeners = {std::make_shared<StopsAt>(200)}}, every_steps(50));
  world.add_task(
      "worker 0",
      R"({"cluster": {"chief": ["chief-0:1"], "worker": ["worker-0:1"], "ps": ["ps-0:1"]}, "task": {"type": "worker", "index": 0}})",
      SmallJob{.max_steps = {}}, every_steps(50));
  world.add_task(
      "ps 0",
      R"({"cluster": {"chief": ["chief-0:1"], "worker": ["worker-0:1"], "ps": ["ps-0:1"]}, "task": {"type": "ps", "index": 0}})",
      SmallJob{.max_steps = {}}, every_steps(50));
  ASSERT_TRUE(world.run(10min)) << world.report();
  for (const std::string& task : world.tasks()) EXPECT_EQ(world.exit_status(task), 0) << world.report();
  const auto mark = value_or_raise(checkpoint::read_end_mark(world.shared(), "/shared/model"));
  ASSERT_TRUE(mark);
  EXPECT_EQ(mark->reason, checkpoint::EndReason::kStopRequested);
  EXPECT_LT(newest_step(world), 300);
}

TEST(JobEnd, AKilledServerUnwinds) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {  // Tasks may be connected, wait for a push or be answered just then.
    World world({.seed = seed});
    world.add_cluster("ps:1,worker:3", SmallJob{}, every_steps(20));
    world.at_step(10 + seed, [&world] {
      world.kill("ps 0");
      world.after(100ms, [&world] { world.start("ps 0"); });
    });
    ASSERT_TRUE(world.run()) << world.report();
    for (const std::string& task : world.tasks()) EXPECT_EQ(world.exit_status(task), 0) << world.report();
  }
}

}  // namespace
}  // namespace shoal::testing
