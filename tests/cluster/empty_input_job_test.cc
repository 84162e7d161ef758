// SPDX-License-Identifier: Apache-2.0
// Jobs in which the input of some tasks, or of all, has no element.
#include "jobs.h"

namespace shoal::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Lt;

/// An input from which nobody can tell what its elements would be.
data::Dataset nothing() {
  return data::Dataset::from_generator([] { return [](data::Element&) -> Result<bool> { return false; }; }).batch(1);
}

TEST(EmptyInputJob, AWorkerThatCannotBuildTheModelFailsAndTheOthersGoOn) {
  Job job;
  const auto of_chief = [](data::Dataset dataset) -> InputFn {
    return [dataset = std::move(dataset)](const InputContext& context) {
      return context.config.trainer_index() == 0 ? dataset : nothing();
    };
  };
  run_job(job, {.size = {.ps = 2, .workers = 1},
                .max_steps = 30,
                .input = of_chief(line({1, 2, 3}).batch(1).repeat()),
                .eval_input = of_chief(line({5, 6}).batch(2))});
  EXPECT_TRUE(job.result_of("chief 0"));
  EXPECT_EQ(job.last_step(), 30);
  const Result<void> worker = job.result_of("worker 0");
  ASSERT_FALSE(worker);
  EXPECT_EQ(worker.error().kind(), ErrorKind::kInvalidArgument);
  EXPECT_THAT(worker.error().message(), HasSubstr("the training input and the evaluation input are both empty"));
  EXPECT_THAT(job.seconds, Lt(20));
}

TEST(EmptyInputJob, AChiefWithoutDataServesTheWorkers) {
  Job job;
  run_job(job, {.size = {.ps = 1, .workers = 1}, .max_steps = std::nullopt, .input = [](const InputContext& context) {
                  return context.config.trainer_index() == 0 ? nothing() : line({1, 2, 3}).batch(1);
                }});
  job.expect_all_ended_well();
  EXPECT_EQ(job.last_step(), 3);
  EXPECT_EQ(end_mark(job.model_dir())->reason, checkpoint::EndReason::kEndOfInput);
}

TEST(EmptyInputJob, AShardWithoutElementsIsOneOfATrainerThatMakesNoStep) {
  Job job;
  run_job(job,
          {.size = {.ps = 1, .workers = 2}, .max_steps = std::nullopt, .input = [](const InputContext& context) {
             return line({1, 2}).shard(context.config.num_trainers(), context.config.trainer_index()).repeat(4).batch(1);
           }});
  job.expect_all_ended_well();
  EXPECT_EQ(job.last_step(), 8);
  EXPECT_EQ(job.log.count('W', "the input is empty or wrongly set up; no step was made"), 1);
}

TEST(EmptyInputJob, ThatNoTaskHasDataForIsRefused) {
  Job job;
  run_job(job, {.size = {.ps = 1, .workers = 1, .evaluator = true}, .input = nothing, .eval_input = nothing});
  const Result<void> chief = job.result_of("chief 0");
  ASSERT_FALSE(chief);
  EXPECT_EQ(chief.error().kind(), ErrorKind::kInvalidArgument);
  EXPECT_THAT(chief.error().message(), HasSubstr("the training input and the evaluation input are both empty"));
  EXPECT_THAT(job.seconds, Lt(30));
}

}  // namespace
}  // namespace shoal::testing
