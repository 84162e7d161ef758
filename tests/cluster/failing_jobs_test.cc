// SPDX-License-Identifier: Apache-2.0
// Jobs as threads of one process in which a task fails (CONTRACT 21).
#include <atomic>
#include <latch>

#include "jobs.h"

namespace shoal::testing {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;

TEST(Job, AFailingWorkerIsNamedAndTheOthersGoOn) {
  Job job;
  std::latch gone(1);  // Without this the others might have made all steps before.
  run_job(job, {.size = {.ps = 1, .workers = 2, .evaluator = true},
                .max_steps = 80,
                .hooks = [&](const RunConfig& config) -> std::vector<std::shared_ptr<Hook>> {
                  const bool failing = config.task().name() == "worker 1";
                  return {after_each_step([&gone, failing](RunContext& run, const StepValues&) {
                    if (!failing) return gone.wait();
                    if (run.iterations() < 5) return;
                    gone.count_down();
                    throw std::runtime_error("the cable");
                  })};
                }});
  EXPECT_TRUE(job.result_of("chief 0"));
  EXPECT_TRUE(job.result_of("ps 0"));
  EXPECT_TRUE(job.result_of("worker 0"));
  EXPECT_TRUE(job.result_of("evaluator 0"));
  const auto failed = job.result_of("worker 1");
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message(), HasSubstr("the cable"));
  EXPECT_THAT(job.last_step(), AllOf(Ge(80), Le(82)));
  EXPECT_EQ(job.counted_updates(), float(job.last_step()));
}

TEST(Job, ATaskThatFailsBeforeItBeganIsNamed) {
  Job job;
  run_job(job, {.size = {.ps = 1, .workers = 1}, .max_steps = 30, .before = [](const RunConfig& config) {
                  if (config.task().name() == "worker 0") throw std::runtime_error("no such data");
                }});
  EXPECT_TRUE(job.result_of("chief 0"));
  EXPECT_EQ(job.result_of("worker 0").error().message(), "the program threw an exception: no such data");
  EXPECT_EQ(job.log.count('E', "worker 0 failed: the program threw an exception: no such data"), 1);
  EXPECT_EQ(job.last_step(), 30);
}

TEST(Job, AFailingChiefEndsAll) {
  for (const bool permanent : {true, false}) {
    SCOPED_TRACE(permanent ? "permanent" : "may be tried again");
    Job job;
    std::atomic<int> workers_there{0};
    const auto arrive = after_each_step([&](RunContext& run, const StepValues&) {
      if (run.iterations() == 1) ++workers_there;
    });
    const auto fail = after_each_step([&](RunContext&, const StepValues&) {
      if (workers_there < 2) return;  // A worker that comes later has nothing to be told.
      if (permanent) raise(invalid_argument("wrong from the start"));
      throw std::runtime_error("the chief's cable");
    });
    run_job(job, {.size = {.ps = 2, .workers = 2, .evaluator = true},
                  .max_steps = std::nullopt,
                  .hooks = [&](const RunConfig& config) -> std::vector<std::shared_ptr<Hook>> {
                    if (config.task().name() == "chief 0") return {fail};
                    return config.task().name().starts_with("worker") ? std::vector<std::shared_ptr<Hook>>{arrive}
                                                                      : std::vector<std::shared_ptr<Hook>>{};
                  }});
    EXPECT_FALSE(job.result_of("chief 0"));
    EXPECT_FALSE(end_mark(job.model_dir()));
    EXPECT_LT(job.seconds, 15) << "the others did not end by themselves";
    EXPECT_TRUE(job.result_of("worker 0")) << job.result_of("worker 0").error().message();
    EXPECT_TRUE(job.result_of("worker 1")) << job.result_of("worker 1").error().message();
    EXPECT_TRUE(job.result_of("evaluator 0"));
    if (!permanent) continue;
    EXPECT_EQ(job.log.count('I', "training finished"), 0);
    const std::string why = "the job failed: the chief gave up: wrong from the start";
    EXPECT_EQ(job.log.count('W', why + "; the parameter server returns"), 2);
    EXPECT_EQ(job.log.count('W', why), 4) << "two servers, two workers";
  }
}

/// The servers of such a chief would wait for it to come again, and whoever starts it gets the same error.
TEST(Job, AChiefThatFailsAfterTheLastStepEndsAllToo) {
  Job job;
  const auto fail = std::make_shared<FunctionHook>();
  fail->at_end = [](RunContext&) { raise(invalid_argument("nothing to sum up")); };
  run_job(job, {.size = {.ps = 2, .workers = 1, .evaluator = true}, .max_steps = 20, .hooks = hook_of("chief 0", fail)});
  EXPECT_THAT(job.result_of("chief 0").error().message(), HasSubstr("nothing to sum up"));
  EXPECT_FALSE(end_mark(job.model_dir()));
  EXPECT_THAT(job.last_step(), AllOf(Ge(20), Le(21)));
  for (const char* const task : {"worker 0", "evaluator 0"}) EXPECT_TRUE(job.result_of(task)) << task;
  EXPECT_EQ(job.log.count('W', "the chief gave up: nothing to sum up; the parameter server returns"), 2);
}

TEST(Job, ANanInAWorkerFailsThatWorker) {
  // The loss is the features' mean, and no gradient flows from it.
  const ModelFn model = [](const Features& features, const Labels&, Mode mode, const Params&, const RunConfig&) {
    EstimatorSpec spec;
    spec.mode = mode;
    spec.loss = ops::reduce_mean(features.single());
    nn::TrainOp counting = count_updates(features);
    if (mode == Mode::kTrain) spec.train_op = std::move(counting);
    return spec;
  };
  Job job;
  run_job(job, {.size = {.ps = 1, .workers = 1}, .model = model, .max_steps = 50, .input = [](const InputContext& context) {
                  return losses({1, 2, context.config.is_chief() ? 3 : std::nanf("")}).repeat();
                }});
  const auto led = job.result_of("chief 0");
  EXPECT_TRUE(led) << led.error().message();
  const auto failed = job.result_of("worker 0");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind(), ErrorKind::kNanLoss) << failed.error().message();
  EXPECT_GE(job.last_step(), 50);
}

TEST(Job, ANanInTheChiefEndsTheJobWithoutMarkOrLastCheckpoint) {
  Job job;
  run_job(job, {.size = {.ps = 1, .workers = 1}, .max_steps = std::nullopt, .input = [](const InputContext& context) {
                  const float odd = context.config.is_chief() ? std::nanf("") : 3.0f;
                  return line({1, odd}).batch(1).repeat();
                }});
  const auto failed = job.result_of("chief 0");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind(), ErrorKind::kNanLoss);
  EXPECT_FALSE(end_mark(job.model_dir()));
  EXPECT_TRUE(job.result_of("ps 0"));
}

}  // namespace
}  // namespace shoal::testing
