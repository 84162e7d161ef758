// SPDX-License-Identifier: Apache-2.0
// Tasks with another copy of a table, whose words have other ids: each is refused, and names what differs (CONTRACT RU-2,
// DI-4).
#include <gmock/gmock.h>

#include "../estimator/wood_model.h"
#include "shoal/estimator/train_and_evaluate.h"
#include "shoal/testing/world.h"
#include "small_job.h"

namespace shoal::testing {
namespace {

using ::testing::HasSubstr;

/// Every task has the same program; those of one role have read another table.
Program job(const std::string& role, const WoodModel& changed, int64_t max_steps = 40) {
  return [=](RunConfig config) {
    const WoodModel model = config.task_type() == role ? changed : WoodModel{};
    Estimator estimator(model, std::move(config));
    train_and_evaluate(estimator, {.input_fn = [] { return all_woods().repeat(); }, .max_steps = max_steps},
                       {.input_fn = all_woods, .throttle_secs = 0, .start_delay_secs = 0});
  };
}

const WoodModel kTurned{.words = {"yew", "oak", "fir", "elm"}};

TEST(ChangedModelInAJob, AnEvaluatorWithAnotherTableIsRefused) {
  World world({.seed = 1});
  world.add_cluster("ps:1,evaluator", job("evaluator", kTurned), every_steps(10));
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.exit_status("chief 0"), 0) << world.report();
  EXPECT_EQ(world.exit_status("evaluator 0"), 2) << world.report();
  ASSERT_FALSE(world.outcome("evaluator 0"));
  EXPECT_THAT(
      world.outcome("evaluator 0").error().message(),
      HasSubstr("feature \"wood\": vocabulary (4 words: elm, fir, oak, yew) before, vocabulary (4 words: yew, oak, fir, "
                "elm) now; number 0 of the words was \"elm\" and is \"yew\""));
}

TEST(ChangedModelInAJob, AWorkerWithAnotherTableIsRefused) {
  World world({.seed = 1});
  world.add_cluster("ps:1,worker:1", job("worker", kTurned), every_steps(10));
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.exit_status("chief 0"), 0) << world.report();
  EXPECT_EQ(world.exit_status("worker 0"), 2) << world.report();
  ASSERT_FALSE(world.outcome("worker 0"));
  EXPECT_THAT(world.outcome("worker 0").error().message(),
              HasSubstr("different model: feature \"wood\" is vocabulary (4 words: yew, oak, fir, elm) #"));
}

TEST(ChangedModelInAJob, AWorkerWithAnotherRateIsRefused) {
  World world({.seed = 1});
  world.add_cluster("ps:1,worker:1", job("worker", {.learning_rate = 0.25}), every_steps(10));
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.exit_status("worker 0"), 2) << world.report();
  ASSERT_FALSE(world.outcome("worker 0"));
  EXPECT_THAT(world.outcome("worker 0").error().message(),
              HasSubstr("learning_rate is 0.25 for worker 0 and 0.5 for the chief"));
}

RunConfigOptions in_shared_model() {
  RunConfigOptions config = every_steps(10);
  config.model_dir = "/shared/model";
  return config;
}

/// Everyone has read the other table.
Program turned_job(int64_t max_steps) {
  return [max_steps](RunConfig config) { job(config.task_type(), kTurned, max_steps)(config); };
}

TEST(ChangedModelInAJob, AChiefThatGoesOnWithAnotherTableEndsTheJob) {
  World world({.seed = 1});
  world.add_process("before", job("none", {}, 20), in_shared_model());
  ASSERT_TRUE(world.run()) << world.report();
  world.add_cluster("ps:1,worker:1", turned_job(40), every_steps(10));
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.exit_status("chief 0"), 2) << world.report();
  ASSERT_FALSE(world.outcome("chief 0"));
  EXPECT_THAT(world.outcome("chief 0").error().message(), HasSubstr("model.ckpt-20: its weights belong to a model with"));
}

TEST(ChangedModelInAJob, WhatIsAcceptedIsTheModelFromThenOn) {
  World world({.seed = 1});
  world.add_process("before", job("none", {}, 20), in_shared_model());
  ASSERT_TRUE(world.run()) << world.report();
  RunConfigOptions accepting = every_steps(10);
  accepting.accept_changed_model = true;
  world.add_cluster("ps:1,worker:1,evaluator", turned_job(40), accepting);
  ASSERT_TRUE(world.run()) << world.report();
  for (const char* task : {"chief 0", "worker 0", "ps 0", "evaluator 0"})
    EXPECT_EQ(world.exit_status(task), 0) << world.report();
  EXPECT_GE(world.count_log("accept_changed_model allows: feature \"wood\""), 1u);
  world.add_process("after", turned_job(60), in_shared_model());
  ASSERT_TRUE(world.run()) << world.report();
  EXPECT_EQ(world.exit_status("after"), 0) << world.report();
}

}  // namespace
}  // namespace shoal::testing
