// SPDX-License-Identifier: Apache-2.0
// What becomes of a warm start when tasks die (CONTRACT EST-14, FA-4).
#include <gmock/gmock.h>

#include "shoal/testing/world.h"
#include "small_job.h"

namespace shoal::testing {
namespace {

using namespace std::chrono_literals;

RunConfigOptions without_checkpoints() {
  RunConfigOptions config;
  config.save_checkpoints_steps = std::nullopt;
  config.save_checkpoints_secs = std::nullopt;
  config.random_seed = 4;
  return config;
}

/// A job of 60 steps whose variables start from those of "/shared/old".
void start_from_old(RunConfig config) {
  Estimator estimator(small_model, std::move(config));
  estimator.warm_start({.from = "/shared/old"});
  train_and_evaluate(estimator, {.input_fn = training_data, .max_steps = 60}, {.input_fn = test_data});
}

class WarmStartFaults : public ::testing::Test {
 protected:
  void SetUp() override {
    RunConfigOptions old = every_steps(20);
    old.model_dir = "/shared/old";
    world_.add_process("old", SmallJob{.max_steps = 20}, old);
    ASSERT_TRUE(world_.run()) << world_.report();
  }
  void run_well() {
    ASSERT_TRUE(world_.run()) << world_.report();
    for (const std::string& task : world_.tasks()) EXPECT_EQ(world_.exit_status(task), 0) << world_.report();
  }
  size_t count_starts() const {
    return world_.count_log("warm start: 4 of 4 variables start from checkpoint /shared/old/model.ckpt-20");
  }

  World world_{{.seed = 1}};
};

TEST_F(WarmStartFaults, ServersThatLoseTheModelAreGivenItAgainWhileThereIsNoCheckpoint) {
  world_.add_cluster("ps:2,worker:1", start_from_old, without_checkpoints());
  world_.at_step(30, [this] {
    world_.kill("ps 1");
    world_.after(1s, [this] { world_.start("ps 1"); });
  });
  run_well();
  EXPECT_EQ(count_starts(), 2u) << world_.report();
}

TEST_F(WarmStartFaults, ServersThatLoseTheModelAreRestoredFromACheckpointOnceThereIsOne) {
  world_.add_cluster("ps:2,worker:1", start_from_old, every_steps(20));
  world_.at_step(30, [this] {
    world_.kill("ps 1");
    world_.after(1s, [this] { world_.start("ps 1"); });
  });
  run_well();
  EXPECT_EQ(count_starts(), 1u) << world_.report();
}

TEST_F(WarmStartFaults, AChiefThatComesBackLeavesTheModelAsTheServersHoldIt) {
  world_.add_cluster("ps:2,worker:1", start_from_old, without_checkpoints());
  world_.at_step(30, [this] {
    world_.kill("chief 0");
    world_.after(1s, [this] { world_.start("chief 0"); });
  });
  run_well();
  EXPECT_EQ(count_starts(), 1u) << world_.report();
}

}  // namespace
}  // namespace shoal::testing
