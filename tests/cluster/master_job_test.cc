// SPDX-License-Identifier: Apache-2.0
// Clusters with a master (CONTRACT 8.6) as threads of one process.
#include <atomic>

#include "jobs.h"
#include "shoal/estimator/run_cluster.h"

namespace shoal::testing {
namespace {

TEST(MasterJob, ReturnsItsMetricsInTheReportAlone) {  // TE-1
  Job job;
  ResultsByTask tasks_of_job;
  const auto body = [&](RunConfig config) { tasks_of_job(std::move(config)); };
  ClusterRunOptions options{.config = job_options({}, job.model_dir())};
  options.config.log_sink = job.log.sink();
  const auto outcomes = run_cluster({.ps = 2, .workers = 2, .master = true}, body, options);
  std::vector<std::string> tasks;
  for (const TaskOutcome& outcome : outcomes) {
    tasks.push_back(outcome.task);
    EXPECT_TRUE(outcome.result) << outcome.task << ": " << outcome.result.error().message();
    EXPECT_EQ(tasks_of_job.results.at(outcome.task).metrics, std::nullopt) << outcome.task;
    EXPECT_TRUE(tasks_of_job.results.at(outcome.task).exports.empty()) << outcome.task;
  }
  EXPECT_THAT(tasks, ::testing::ElementsAre("master 0", "ps 0", "ps 1", "worker 0", "worker 1"));
  EXPECT_EQ(outcomes[0].role, "master");
  EXPECT_EQ(outcomes[0].report.metrics.at("global_step"), double(job.last_step()));
  EXPECT_GE(job.last_step(), 40);
  EXPECT_LE(job.last_step(), 42);
  EXPECT_TRUE(outcomes[3].report.metrics.empty());
}

/// Evaluations change nothing of the training: the bits are those of one process that computes for three trainers.
TEST(MasterJob, GivesTheBitsOfReplicasWhereUpdatesAreSynchronous) {
  JobSpec spec{.model = split_model, .max_steps = 20, .input = wide_line, .save_steps = 5};
  spec.eval_input = [] { return wide_line().take(2); };
  Job alone;
  spec.replicas = 3;
  run_locally(alone, spec);
  spec.replicas = 1;
  spec.updates = {.kind = UpdateStrategyKind::kSync};
  for (const int32_t servers : {1, 2}) {
    Job job;
    spec.size = {.ps = servers, .workers = 2, .master = true};
    run_job(job, spec);
    job.expect_all_ended_well();
    EXPECT_EQ(job.last_step(), 20);
    EXPECT_EQ(job.last_tensors(), alone.last_tensors()) << servers;
    EXPECT_EQ(job.log.count('I', "evaluation: "), 4) << "at 5, 10, 15 and 20";
  }
}

/// Servers wait twenty seconds for the end of an interrupted job (FA-12), and this evaluation would never end by
/// itself.
TEST(MasterJob, AnInterruptEndsAnEvaluationBeforeTheLast) {
  for (const UpdateStrategyKind updates : {UpdateStrategyKind::kAsync, UpdateStrategyKind::kSync}) {
    Job job;
    JobSpec spec{.size = {.ps = 2, .workers = 1, .master = true}, .max_steps = std::nullopt};
    spec.updates = {.kind = updates};
    std::atomic<int> evaluations = 0;
    spec.eval_input = [&evaluations] {
      return evaluations++ == 0 ? line({5, 6}).batch(2).repeat(int64_t(1) << 40) : line({5, 6}).batch(2);
    };
    spec.eval_hooks = {after_each_step([&job](RunContext& run, const StepValues&) {
      if (run.iterations() == 3) job.interrupt.request_stop();
    })};
    run_job(job, spec);
    job.expect_all_ended_well();
    EXPECT_EQ(evaluations, 2);
    EXPECT_EQ(job.log.count('I', "given up: an interrupt ends the job first"), 1);
    const auto mark = end_mark(job.model_dir());
    ASSERT_TRUE(mark);
    EXPECT_EQ(mark->reason, checkpoint::EndReason::kInterrupted);
    EXPECT_EQ(mark->checkpoint, job.last_checkpoint());
    EXPECT_EQ(job.counted_updates(), float(job.last_step()));
    EXPECT_EQ(job.reports.at("master 0").metrics.at("global_step"), double(job.last_step()));
  }
}

/// An error in its evaluation ends the master, as it ends a local run, and with it the job.
TEST(MasterJob, FailsWithItsEvaluation) {
  Job job;
  JobSpec spec{.size = {.ps = 1, .master = true}, .max_steps = 1000};
  spec.eval_hooks = {after_each_step([](RunContext&, const StepValues&) { raise(invalid_argument("the wrong data")); })};
  run_job(job, spec);
  const Result<void> result = job.result_of("master 0");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind(), ErrorKind::kInvalidArgument);
  EXPECT_THAT(result.error().message(), ::testing::HasSubstr("the wrong data"));
  EXPECT_FALSE(end_mark(job.model_dir()));
  EXPECT_TRUE(job.result_of("ps 0"));
}

/// The master's servers are gone by then: a launcher that started it again would have it train alone, for ever.
TEST(MasterJob, IsNotStartedAgainForALastEvaluationThatFailed) {
  for (const bool interrupted : {true, false}) {
    Job job;
    JobSpec spec{.size = {.ps = 1, .master = true}, .max_steps = 20, .save_steps = 1000};
    if (interrupted) {
      spec.hooks = hook_of("master 0", after_each_step([&job](RunContext& run, const StepValues&) {
                             if (run.global_step() == 10) job.interrupt.request_stop();
                           }));
    }
    spec.eval_hooks = {after_each_step([](RunContext&, const StepValues&) { raise(unavailable("the disk is tired")); })};
    run_job(job, spec);
    // After max_steps a restarted master would find nothing to do.
    EXPECT_EQ(bool(job.result_of("master 0")), interrupted);
    EXPECT_EQ(job.log.count('E', "the last evaluation failed: "), interrupted);
    ASSERT_TRUE(end_mark(job.model_dir()));
    EXPECT_EQ(end_mark(job.model_dir())->global_step, interrupted ? 10 : 20);
    EXPECT_TRUE(job.result_of("ps 0"));
  }
}

TEST(MasterJob, HasNoEvaluator) {
  bool called = false;
  EXPECT_THAT(refusal([&called] {
                run_cluster({.ps = 1, .evaluator = true, .master = true}, [&called](RunConfig) { called = true; });
              }),
              ::testing::HasSubstr("no evaluator beside a master"));
  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace shoal::testing
