// SPDX-License-Identifier: Apache-2.0
// Numbers of the caller that are as large as their type allows: no sum of them overflows, and none ends the process.
#include <limits>

#include "fixture.h"
#include "shoal/estimator/hooks.h"

namespace shoal::testing {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

/// Stops the training after as many steps.
std::shared_ptr<Hook> stops_after(int steps) {
  return after_each_step([steps](RunContext& run, const StepValues&) {
    if (run.iterations() >= uint64_t(steps)) run.request_stop();
  });
}

TEST(LargeNumbers, StepsAfterACheckpointTrainOnUntilSomethingElseEndsTheTraining) {
  Place place;
  Estimator estimator = place.estimator(counting_model);
  estimator.train(endless, {.steps = 2});
  estimator.train(endless, {.steps = kMost, .hooks = {stops_after(3)}});
  EXPECT_EQ(estimator.latest_checkpoint(), place.model_dir() + "/model.ckpt-5");
  estimator.train(endless,
                  {.max_steps = kMost, .hooks = {stops_after(1), stop_at_step({.num_steps = kMost, .last_step = {}})}});
  EXPECT_EQ(estimator.latest_checkpoint(), place.model_dir() + "/model.ckpt-6");
}

TEST(LargeNumbers, IntervalsAndWhatIsKept) {
  Place place;
  Estimator estimator = place.estimator(counting_model, {.save_checkpoints_steps = kMost,
                                                         .save_summary_steps = kMost,
                                                         .log_step_count_steps = kMost,
                                                         .keep_checkpoint_max = kMost,
                                                         .keep_checkpoint_every_n_hours = 1e300});
  estimator.train(endless, {.steps = 3});
  estimator.train(endless, {.steps = 3});
  EXPECT_EQ(estimator.latest_checkpoint(), place.model_dir() + "/model.ckpt-6");
}

TEST(LargeNumbers, AThrottleThatNeverEndsSkipsAllButTheFirstAndTheLast) {
  Place place;
  Estimator estimator = place.estimator(counting_model, {.save_checkpoints_steps = 1});
  const auto report = train_and_evaluate(estimator, {.input_fn = endless, .max_steps = 5},
                                         {.input_fn = [] { return losses({1}); }, .throttle_secs = kMost});
  EXPECT_EQ(report.metrics->integer("global_step"), 5);
  EXPECT_EQ(place.log.count('I', "skipped by the throttle"), 3);
}

}  // namespace
}  // namespace shoal::testing
