// SPDX-License-Identifier: Apache-2.0
/// An op and an optimizer of a program's own in whole jobs.
#include "jobs.h"
#include "own_model.h"

namespace shoal::testing {
namespace {

using ::testing::HasSubstr;

JobSpec own_job(int64_t steps) {
  return {.size = {.ps = 2, .workers = 1},
          .model = own_model,
          .max_steps = steps,
          .input =
              [] {
                return line({-1, -0.5f, 0, 0.5f, 1, 1.5f}).shuffle(6).batch(2).repeat();
              },
          .params = {},
          .ops = own_ops()};
}

TEST(OwnOpsJob, SynchronousGivesTheBitsOfReplicas) {
  Job local;
  expect_the_bits_of_replicas(own_job, local);
  EXPECT_TRUE(local.last_tensors().contains("hidden/kernel/lion"));
}

TEST(OwnOpsJob, SynchronousInPartsAndOfManyGivesTheBitsOfReplicas) {
  Job local;
  JobSpec replicas = own_job(20);
  replicas.replicas = 3;
  run_locally(local, replicas);
  for (const uint64_t part_bytes : {uint64_t{1}, cluster::kOwnPartBytes}) {
    Job job;
    JobSpec spec = own_job(20);
    spec.size = {.ps = 3, .workers = 2};
    spec.updates = {.kind = UpdateStrategyKind::kSync};
    spec.own_part_bytes = part_bytes;
    run_job(job, spec);
    job.expect_all_ended_well();
    EXPECT_EQ(job.last_tensors(), local.last_tensors()) << part_bytes;
  }
}

TEST(OwnOpsJob, OneTrainerGivesTheBitsOfALocalRun) {
  Job local, job;
  JobSpec spec = own_job(25);
  spec.size = {.ps = 2, .workers = 0};
  run_locally(local, spec);
  run_job(job, spec);
  job.expect_all_ended_well();
  EXPECT_EQ(job.last_tensors(), local.last_tensors());
}

TEST(OwnOpsJob, AsynchronousTrainersLearn) {
  Job job;
  JobSpec spec = own_job(600);
  spec.size = {.ps = 2, .workers = 2, .evaluator = true};
  spec.save_steps = 100;
  spec.eval_input = [] { return line({-0.75f, 0.25f, 1.25f}).batch(3); };  // The initial model has a loss of about 4.
  run_job(job, spec);
  job.expect_all_ended_well();
  EXPECT_LT(job.reports.at("evaluator 0").metrics.at("average_loss"), 1);
  EXPECT_EQ(job.log.count('W', "the train op assigns"), 0) << "slots may be assigned";
}

EstimatorSpec assigning_model(const Features& features, const Labels& labels, Mode mode, const Params& params,
                              const RunConfig& config) {
  EstimatorSpec spec = own_model(features, labels, mode, params, config);
  if (mode != Mode::kTrain) return spec;
  spec.train_op = nn::minimize_by(spec.loss, [](const nn::OwnStep& step) -> std::vector<nn::VariableUpdate> {
    return {nn::assign(step.variable(), step.variable() - step.gradient() * 0.01)};
  });
  return spec;
}

TEST(OwnOptimizerJob, TellsAsynchronousTrainersThatAssignWeights) {
  for (const auto kind : {UpdateStrategyKind::kAsync, UpdateStrategyKind::kSync}) {
    Job job;
    JobSpec spec = own_job(10);
    spec.model = assigning_model;
    spec.updates = {.kind = kind};
    run_job(job, spec);
    job.expect_all_ended_well();
    EXPECT_EQ(
        job.log.count('W', "the train op assigns hidden/kernel, and 2 trainers that do not wait for each other train it"),
        kind == UpdateStrategyKind::kAsync ? 1 : 0);
  }
}

}  // namespace
}  // namespace shoal::testing
