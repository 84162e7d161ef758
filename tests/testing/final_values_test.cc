// SPDX-License-Identifier: Apache-2.0
// Final values of whole jobs, in virtual time: who computes them, and that they are of the last checkpoint (CONTRACT HK-8).
#include <gmock/gmock.h>

#include "shoal/checkpoint/directory.h"
#include "shoal/checkpoint/reader.h"
#include "shoal/estimator/value_hooks.h"
#include "shoal/testing/world.h"
#include "small_job.h"

namespace shoal::testing {
namespace {

using ::testing::ElementsAre;

/// A job whose trainers all ask for two values at the end.
struct AskingJob {
  explicit AskingJob(UpdateStrategyKind kind, int64_t save_steps, std::string size = "ps:2,worker:2,evaluator") {
    RunConfigOptions config = every_steps(save_steps);
    config.update_strategy = {.kind = kind};
    SmallJob job{.max_steps = 60};
    job.hooks = [this]() -> std::vector<std::shared_ptr<Hook>> {
      const auto note = [this](RunContext& run, const NamedTensors& values) {
        EXPECT_TRUE(run.is_chief());
        steps.push_back(run.global_step());
        const auto bias = values.at(0).second.as<float>();
        biases.assign(bias.begin(), bias.end());
        EXPECT_EQ(values.at(1).second.elements(), 1) << "the loss of the last batch";
      };
      return {final_values({"dense/bias", "loss"}, {.then = note})};
    };
    world.add_cluster(std::move(size), job, config);
  }
  void run() {
    ASSERT_TRUE(world.run()) << world.report();
    for (const std::string& task : world.tasks()) EXPECT_EQ(world.exit_status(task), 0) << task << "\n" << world.report();
  }
  World world{{.seed = 5}};
  std::vector<uint64_t> steps;
  std::vector<float> biases;
};

class FinalValuesOfAJob : public ::testing::TestWithParam<UpdateStrategyKind> {};
INSTANTIATE_TEST_SUITE_P(, FinalValuesOfAJob, ::testing::Values(UpdateStrategyKind::kAsync, UpdateStrategyKind::kSync),
                         [](const auto& kind) { return std::string(to_string(kind.param)); });

TEST_P(FinalValuesOfAJob, AreTheChiefsAndThoseOfTheLastCheckpoint) {
  AskingJob job(GetParam(), 20);
  job.run();
  const auto list = value_or_raise(checkpoint::list(job.world.shared(), "/shared/model", checkpoint::Check::kChecksums));
  ASSERT_THAT(job.steps, ElementsAre(uint64_t(list.back().global_step)));
  const auto reader = value_or_raise(
      checkpoint::Reader::open(job.world.shared(), "/shared/model/model.ckpt-" + std::to_string(list.back().global_step)));
  const Tensor saved = value_or_raise(reader->read_tensor("dense/bias"));
  const auto bias = saved.as<float>();
  EXPECT_EQ(job.biases, std::vector<float>(bias.begin(), bias.end()));
  EXPECT_EQ(job.world.count_log("final values at step"), 1u);
  EXPECT_EQ(job.world.count_log("final values: there are none"), 0u) << "other trainers say nothing";
}

TEST_P(FinalValuesOfAJob, AreThereWithoutCheckpoints) {
  AskingJob job(GetParam(), 0, "ps:1,worker:1");
  job.run();
  ASSERT_EQ(job.steps.size(), 1u);
  EXPECT_GE(job.steps[0], 60u);
}

}  // namespace
}  // namespace shoal::testing
