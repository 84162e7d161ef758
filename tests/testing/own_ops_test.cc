// SPDX-License-Identifier: Apache-2.0
// Ops of a program's own in a cluster: who lacks one, or has another version, is told so (CONTRACT DI-4).
#include <gmock/gmock.h>

#include "../estimator/own_model.h"
#include "shoal/estimator/train_and_evaluate.h"
#include "shoal/testing/world.h"
#include "small_job.h"

namespace shoal::testing {
namespace {

using ::testing::HasSubstr;

data::Dataset numbers() {
  return data::Dataset::from_tensor_slices(Tensor::of<float>({4, 1}, {-1, 0, 0.5f, 2}),
                                           Tensor::of<float>({4, 1}, {1, 2, 3, 4}))
      .batch(2);
}

constexpr char kAll[] = "all roles";

std::vector<OpDef> newer_ops() { return {squash(2), squash_grad(), round_off()}; }

/// Every task has the same program, but for the ops of one role.
Program job(const std::string& role, const std::vector<OpDef>& others, int64_t max_steps = 40) {
  return [=](RunConfig config) {
    const std::vector<OpDef> ops = role == kAll || config.task_type() == role ? others : own_ops();
    Estimator estimator(own_model, std::move(config));
    estimator.use_ops(ops);
    train_and_evaluate(estimator, {.input_fn = [] { return numbers().repeat(); }, .max_steps = max_steps},
                       {.input_fn = numbers, .throttle_secs = 0, .start_delay_secs = 0});
  };
}

TEST(OwnOpsInAJob, ServersNeedNone) {
  World world({.seed = 1});
  world.add_cluster("ps:2,worker:1,evaluator", job("ps", {}), every_steps(10));
  ASSERT_TRUE(world.run()) << world.report();
  for (const std::string& task : world.tasks()) EXPECT_EQ(world.exit_status(task), 0) << world.report();
}

TEST(OwnOpsInAJob, AnEvaluatorWithoutThemNamesWhatItLacks) {
  World world({.seed = 1});
  world.add_cluster("ps:1,evaluator", job("evaluator", {}), every_steps(10));
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.exit_status("chief 0"), 0) << world.report();
  ASSERT_FALSE(world.outcome("evaluator 0"));
  EXPECT_THAT(world.outcome("evaluator 0").error().message(), HasSubstr("there is no op \"squash\""));
}

/// It meets nobody but checkpoints. The first one could be of an earlier start of the job; the second one is not.
TEST(OwnOpsInAJob, AnEvaluatorWithAnotherVersionIsRefused) {
  World world({.seed = 1});
  world.add_cluster("ps:1,evaluator", job("evaluator", newer_ops()), every_steps(10));
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.exit_status("chief 0"), 0) << world.report();
  EXPECT_EQ(world.exit_status("evaluator 0"), 2) << world.report();
  ASSERT_FALSE(world.outcome("evaluator 0"));
  EXPECT_THAT(world.outcome("evaluator 0").error().message(),
              HasSubstr("the weights there were trained with other ops: op squash (version 1 there, version 2 in this"));
  EXPECT_LE(world.count_log("waiting for the next checkpoint"), 1u) << world.report();
}

/// The evaluator may look before the chief has written a checkpoint of its own.
TEST(OwnOpsInAJob, WithAnotherVersionGoesOnAfterARestart) {
  size_t waited = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    World world({.seed = seed});
    RunConfigOptions here = every_steps(10);
    here.model_dir = "/shared/model";
    world.add_process("before", job("none", {}, 20), here);
    ASSERT_TRUE(world.run()) << world.report();
    world.add_cluster("ps:1,worker:1,evaluator", job(kAll, newer_ops(), 40), every_steps(10));
    ASSERT_TRUE(world.run()) << world.report();
    for (const char* task : {"chief 0", "worker 0", "ps 0", "evaluator 0"})
      EXPECT_EQ(world.exit_status(task), 0) << world.report();
    waited += world.count_log("waiting for the next checkpoint");
  }
  EXPECT_GE(waited, 1u) << "no evaluator has met the checkpoint of before";
}

TEST(OwnOpsInAJob, AWorkerWithAnotherVersionIsRefused) {
  World world({.seed = 1});
  world.add_cluster("ps:1,worker:1", job("worker", newer_ops()), every_steps(10));
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.exit_status("chief 0"), 0) << world.report();
  EXPECT_EQ(world.exit_status("worker 0"), 2) << world.report();
  ASSERT_FALSE(world.outcome("worker 0"));
  EXPECT_THAT(world.outcome("worker 0").error().message(),
              HasSubstr("op squash is version 2 for worker 0 and version 1 for the chief"));
}

/// Slots of an optimizer of one's own are state like any other.
TEST(OwnOptimizerInAJob, SurvivesTheLossOfAnyTask) {
  for (const std::string lost : {"worker 0", "chief 0", "ps 1"}) {
    World world({.seed = 2, .work = std::chrono::milliseconds(100)});
    world.add_cluster("ps:2,worker:1", job("", {}), every_steps(5));
    world.at_step(12, [&world, lost] {
      world.kill(lost);
      world.after(std::chrono::seconds(2), [&world, lost] { world.start(lost); });
    });
    ASSERT_TRUE(world.run()) << lost << "\n" << world.report();
    for (const std::string& task : world.tasks()) EXPECT_EQ(world.exit_status(task), 0) << lost << "\n" << world.report();
  }
}

}  // namespace
}  // namespace shoal::testing
