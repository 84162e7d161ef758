// SPDX-License-Identifier: Apache-2.0
/// The public call for a cluster of threads.
#include "shoal/estimator/run_cluster.h"

#include "jobs.h"

namespace shoal::testing {
namespace {

ClusterRunOptions in(const Job& job, Log& log) {
  ClusterRunOptions options{.config = job_options({}, job.model_dir())};
  options.config.log_sink = log.sink();
  return options;
}

// Over shm the tasks of two clusters would meet, or take each other's sockets (CONTRACT IP-3).
TEST(RunCluster, TwoClustersOfAProcessShareNoAddress) {
  const auto config_of_chief = [] {
    Job job;
    Log log;
    std::optional<RunConfig> config;
    run_cluster(
        {.ps = 1, .workers = 1},
        [&](RunConfig given) {
          if (given.is_chief()) config = std::move(given);
        },
        in(job, log));
    return *config;
  };
  const RunConfig one = config_of_chief(), other = config_of_chief();
  EXPECT_EQ(one.cluster(), one.cluster());
  EXPECT_FALSE(one.cluster() == other.cluster());
}

TEST(RunCluster, GivesAllOutcomesByRoleAndIndex) {
  Job job;
  Log log;
  ResultsByTask tasks_of_job;
  const auto body = [&](RunConfig config) { tasks_of_job(std::move(config)); };
  // Synchronous, so that the chief takes part in every step, however late its thread begins.
  ClusterRunOptions options = in(job, log);
  options.config.update_strategy = {.kind = UpdateStrategyKind::kSync};
  const auto outcomes = run_cluster({.ps = 2, .workers = 1, .evaluator = true}, body, std::move(options));
  std::vector<std::string> tasks;
  for (const TaskOutcome& outcome : outcomes) {
    tasks.push_back(outcome.task);
    EXPECT_EQ(outcome.task, outcome.role + " " + std::to_string(outcome.index));
    EXPECT_TRUE(outcome.result) << outcome.result.error().message();
    EXPECT_EQ(outcome.report.task, outcome.task);
    EXPECT_EQ(tasks_of_job.results.at(outcome.task).report.loss, outcome.report.loss);
  }
  EXPECT_THAT(tasks, ::testing::ElementsAre("chief 0", "ps 0", "ps 1", "worker 0", "evaluator 0"));
  EXPECT_EQ(outcomes[0].report.global_step, 40u);
  EXPECT_LT(outcomes[0].report.loss, 1);  // The loss of the chief's last step.
  EXPECT_FALSE(outcomes[1].report.loss);
  EXPECT_EQ(outcomes[4].report.metrics.at("global_step"), double(job.last_step()));
  EXPECT_GT(log.count('I', "loss = "), 0);  // Log lines go where the config says.
}

TEST(RunCluster, RefusesNegativeCounts) {
  for (const cluster::ClusterSize& size : {cluster::ClusterSize{.ps = -1}, cluster::ClusterSize{.ps = 1, .workers = -1}}) {
    Job job;
    Log log;
    const auto body = [](const RunConfig&) { ADD_FAILURE() << "a task runs"; };
    EXPECT_THAT(refusal([&] { run_cluster(size, body, in(job, log)); }),
                ::testing::HasSubstr("is -1, expected a count from 0 to 100000"));
  }
}

TEST(RunCluster, NamesTheTaskThatFails) {
  Job job;
  Log log;
  const auto outcomes = run_cluster(
      {.ps = 1, .workers = 1},
      [&](RunConfig config) {
        if (config.task_type() == "worker") throw std::runtime_error("the dog ate it");
        Estimator estimator(linear_model, std::move(config), {{"learning_rate", 0.01}});
        train_and_evaluate(estimator, {.input_fn = line({1, 2}).batch(2).repeat(), .max_steps = 10},
                           {.input_fn = line({5, 6}).batch(2)});
      },
      in(job, log));
  ASSERT_EQ(outcomes.size(), 3u);
  EXPECT_TRUE(outcomes[0].result);
  EXPECT_TRUE(outcomes[1].result);
  EXPECT_EQ(outcomes[2].role, "worker");
  ASSERT_FALSE(outcomes[2].result);
  EXPECT_THAT(outcomes[2].result.error().message(), ::testing::HasSubstr("the dog ate it"));
}

TEST(RunCluster, EndsWhenAsked) {
  Job job;
  Log log;
  ClusterRunOptions options = in(job, log);
  StopSource stop;
  options.stop = stop.token();
  const auto outcomes = run_cluster(
      {.ps = 1, .workers = 1},
      [&](RunConfig config) {
        Estimator estimator(linear_model, std::move(config), {{"learning_rate", 0.01}});
        const auto hook = after_each_step([&](RunContext& run, const StepValues&) {
          if (run.global_step() > 5) stop.request_stop();
        });
        train_and_evaluate(estimator, {.input_fn = line({1, 2}).batch(2).repeat(), .hooks = {hook}},
                           {.input_fn = line({5, 6}).batch(2)});
      },
      options);
  for (const TaskOutcome& outcome : outcomes) EXPECT_EQ(outcome.report.metrics.size(), 0u) << outcome.task;
  EXPECT_GT(job.last_step(), 5);
}

}  // namespace
}  // namespace shoal::testing
