// SPDX-License-Identifier: Apache-2.0
// Early stopping of jobs as threads of one process, with a real evaluator beside them (CONTRACT HK-12), and what hooks may
// not do there (HK-11).
#include "jobs.h"
#include "shoal/estimator/early_stopping.h"
#include "shoal/estimator/in_memory_evaluator.h"

namespace shoal::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const EarlyStoppingOptions kEveryTenSteps{.run_every_secs = std::nullopt, .run_every_steps = 10};

/// A job without an end of its own, all of whose trainers have the hook that `make` makes.
JobSpec stopped_by(std::function<std::shared_ptr<Hook>()> make, int32_t servers) {
  return {.size = {.ps = servers, .workers = 2, .evaluator = true},
          .max_steps = std::nullopt,
          .hooks = [make = std::move(make)](const RunConfig&) -> std::vector<std::shared_ptr<Hook>> { return {make()}; }};
}

void expect_stopped_early(const Job& job) {
  job.expect_all_ended_well();
  const auto mark = end_mark(job.model_dir());
  ASSERT_TRUE(mark);
  EXPECT_EQ(mark->reason, checkpoint::EndReason::kStopRequested);
  EXPECT_EQ(mark->global_step, job.last_step());
  EXPECT_EQ(mark->checkpoint, job.last_checkpoint());
  EXPECT_EQ(job.counted_updates(), float(job.last_step()));
  EXPECT_EQ(job.reports.at("evaluator 0").metrics.at("global_step"), double(job.last_step()));
  EXPECT_EQ(job.log.count('I', "early stopping at global step"), 1);
  EXPECT_EQ(job.log.count('E', ""), 0);
}

TEST(EarlyStoppedThreads, AllEndWhereUpdatesAreAsynchronous) {
  for (const int32_t servers : {1, 2}) {
    SCOPED_TRACE(std::to_string(servers) + " servers");
    Job job;
    run_job(job, stopped_by([] { return stop_if_lower("average_loss", 1e9, kEveryTenSteps); }, servers));
    expect_stopped_early(job);
  }
}

TEST(EarlyStoppedThreads, AllEndAtOneStepWhereUpdatesAreSynchronous) {
  for (const int32_t servers : {1, 2}) {
    SCOPED_TRACE(std::to_string(servers) + " servers");
    Job job;
    JobSpec spec = stopped_by([] { return stop_if_lower("average_loss", 1e9, kEveryTenSteps); }, servers);
    spec.updates = {.kind = UpdateStrategyKind::kSync};
    run_job(job, spec);
    expect_stopped_early(job);
    EXPECT_EQ(
        job.log.count('I', "early stopping at global step " + std::to_string(job.last_step()) + ": average_loss was "), 1);
  }
}

TEST(EarlyStoppedThreads, AWrongNameOfAMetricEndsNothing) {
  Job job;
  JobSpec spec = stopped_by([] { return stop_if_lower("averge_loss", 1e9, kEveryTenSteps); }, 1);
  spec.max_steps = 400;
  run_job(job, spec);
  job.expect_all_ended_well();
  EXPECT_EQ(end_mark(job.model_dir())->reason, checkpoint::EndReason::kMaxSteps);
  EXPECT_LE(job.log.count('W', "has no metric averge_loss"), 1);
}

TEST(InMemoryEvaluation, IsRefusedInACluster) {
  Job job;
  JobSpec spec{.size = {.ps = 1, .workers = 1}, .ready_timeout = 5};
  spec.hooks = [](const RunConfig& config) -> std::vector<std::shared_ptr<Hook>> {
    return {in_memory_evaluator(Estimator(counted_linear_model, config), [] { return line({5, 6}).batch(2); })};
  };
  run_job(job, spec);
  for (const TaskOutcome& outcome : job.outcomes) {
    ASSERT_FALSE(outcome.result) << outcome.task;
    EXPECT_EQ(outcome.result.error().kind(), ErrorKind::kFailedPrecondition);
    EXPECT_THAT(outcome.result.error().message(), AllOf(HasSubstr("in_memory_evaluator: the cluster of " + outcome.task),
                                                        HasSubstr("1 parameter servers and 2 trainers")));
  }
  EXPECT_FALSE(end_mark(job.model_dir()));
}

TEST(LiveVariables, CannotBeReadWhereServersHaveThem) {
  Job job;
  JobSpec spec{.size = {.ps = 1}, .ready_timeout = 5};
  spec.hooks = hook_of("chief 0", after_each_step([](RunContext& run, const StepValues&) { run.variable("linear/bias"); }));
  run_job(job, spec);
  const Result<void> result = job.result_of("chief 0");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind(), ErrorKind::kFailedPrecondition);
  EXPECT_THAT(result.error().message(), HasSubstr("the model lies on parameter servers"));
}

}  // namespace
}  // namespace shoal::testing
