// SPDX-License-Identifier: Apache-2.0
/// Whole jobs with synchronous updates (CONTRACT 18.2), beside one process that computes for as many trainers.
#include <set>

#include "jobs.h"

namespace shoal::testing {
namespace {

JobSpec synchronous(int32_t servers, int32_t trainers, int64_t steps) {
  return {.size = {.ps = servers, .workers = trainers - 1},
          .model = split_model,
          .max_steps = steps,
          .input = wide_line,
          .updates = {.kind = UpdateStrategyKind::kSync}};
}

JobSpec replicas(int32_t trainers, int64_t steps) {
  JobSpec spec = synchronous(1, 1, steps);
  spec.replicas = trainers;
  spec.updates = {};
  return spec;
}

std::map<std::string, std::string> bits_of_replicas(int32_t trainers, int64_t steps, const Params& params) {
  Job job;
  JobSpec spec = replicas(trainers, steps);
  spec.params = params;
  run_locally(job, spec);
  return job.last_tensors();
}

/// The slots have the same bits, too: last_tensors() has all that a checkpoint has.
TEST(SyncJob, GivesTheBitsOfReplicasWithAnyNumberOfServers) {
  for (const std::string optimizer : {"Adam", "LAMB"}) {
    for (const int32_t trainers : {1, 2, 3, 4}) {
      const Params params{{"learning_rate", 0.01}, {"optimizer", optimizer}};
      const auto expected = bits_of_replicas(trainers, 20, params);
      for (const int32_t servers : {1, 2, 3}) {
        SCOPED_TRACE(optimizer + ", " + std::to_string(trainers) + " trainers, " + std::to_string(servers) + " servers");
        Job job;
        JobSpec spec = synchronous(servers, trainers, 20);
        spec.params = params;
        run_job(job, spec);
        job.expect_all_ended_well();
        EXPECT_EQ(job.last_step(), 20);
        EXPECT_EQ(job.last_tensors(), expected);
      }
    }
  }
}

TEST(SyncJob, TrainersComputeWithBatchesOfTheirOwn) {
  const Params params{{"learning_rate", 0.01}};
  std::set<std::map<std::string, std::string>> different;
  for (const int32_t trainers : {1, 2, 3}) different.insert(bits_of_replicas(trainers, 5, params));
  EXPECT_EQ(different.size(), 3u);
}

TEST(SyncJob, OfManyTrainersGivesTheBitsOfReplicas) {
  for (const int32_t trainers : {8, 16}) {
    const auto expected = bits_of_replicas(trainers, 6, {{"learning_rate", 0.01}});
    Job job;
    run_job(job, synchronous(2, trainers, 6));
    job.expect_all_ended_well();
    EXPECT_EQ(job.last_tensors(), expected) << trainers;
  }
}

TEST(SyncJob, OverSharedMemoryGivesTheSameBits) {
  Job job;
  JobSpec spec = synchronous(2, 3, 12);
  spec.transport = "shm";
  run_job(job, spec);
  job.expect_all_ended_well();
  EXPECT_EQ(job.last_tensors(), bits_of_replicas(3, 12, {{"learning_rate", 0.01}}));
}

TEST(SyncJob, EitherFormGoesOnWhereTheOtherEnded) {
  const auto expected = bits_of_replicas(3, 30, {{"learning_rate", 0.01}});
  Job job;
  run_locally(job, replicas(3, 8));
  run_job(job, synchronous(2, 3, 17));
  run_locally(job, replicas(3, 24));
  run_job(job, synchronous(3, 3, 30));
  job.expect_all_ended_well();
  EXPECT_EQ(job.last_step(), 30);
  EXPECT_EQ(job.last_tensors(), expected);
}

/// R gradients make one update, for which the global step advances by one (SY-1, SY-5, SY-6), and the last step is the
/// one that was asked for, for any R and N.
TEST(SyncJob, EndsAtItsStepForAnyRAndN) {
  for (const int32_t trainers : {1, 2, 3, 4}) {
    for (const int64_t aggregated : {1, 2, 3, 4, 8}) {
      if (aggregated > trainers && aggregated % trainers != 0) continue;
      SCOPED_TRACE(std::to_string(aggregated) + " of " + std::to_string(trainers));
      Job job;
      JobSpec spec = synchronous(aggregated % 2 == 0 ? 2 : 1, trainers, 15);
      spec.model = counted_linear_model;
      spec.input = JobSpec().input;
      spec.updates.replicas_to_aggregate = aggregated;
      run_job(job, spec);
      job.expect_all_ended_well();
      EXPECT_EQ(job.last_step(), 15);
      EXPECT_EQ(job.counted_updates(), 15.0f);
    }
  }
}

/// A trainer without more input leaves, and the others go on without it (SY-11); the job ends when none is left.
TEST(SyncJob, GoesOnWithoutTrainersWhoseInputHasEnded) {
  for (const int longest : {0, 1, 2}) {
    SCOPED_TRACE("trainer " + std::to_string(longest) + " has most");
    Job job;
    JobSpec spec = synchronous(2, 3, 0);
    spec.max_steps = std::nullopt;
    spec.model = counted_linear_model;
    spec.input = [longest](const InputContext& context) {
      const bool most = context.config.trainer_index() == longest;
      return line({1, 2, 3, 4}).batch(2).repeat(most ? 10 : 3);
    };
    run_job(job, spec);
    job.expect_all_ended_well();
    EXPECT_EQ(job.last_step(), 20);
    EXPECT_EQ(job.counted_updates(), 20.0f);
    Job alone;
    JobSpec local = spec;
    local.replicas = 3;
    local.updates = {};
    run_locally(alone, local);
    EXPECT_EQ(alone.last_step(), 20);
    EXPECT_EQ(alone.last_tensors(), job.last_tensors());
  }
}

TEST(SyncJob, AStopOfOneHookStopsAllAtItsStep) {
  for (const int32_t asks : {0, 1}) {
    Job job;
    JobSpec spec = synchronous(2, 3, 1000);
    spec.hooks = [asks](const RunConfig& config) -> std::vector<std::shared_ptr<Hook>> {
      return {after_each_step([asks, own = config.trainer_index()](RunContext& run, const StepValues&) {
        if (own == asks && run.global_step() >= 7) run.request_stop();
      })};
    };
    if (asks != 0) spec.max_steps = 25;  // A worker that stops leaves, and the others go on.
    run_job(job, spec);
    job.expect_all_ended_well();
    EXPECT_EQ(job.last_step(), asks == 0 ? 7 : 25);
  }
}

TEST(SyncJob, RefusesReplicasInACluster) {
  Job job;
  JobSpec spec = synchronous(1, 2, 5);
  spec.replicas = 2;
  run_job(job, spec);
  EXPECT_FALSE(job.result_of("chief 0"));
  EXPECT_THAT(job.result_of("chief 0").error().message(), ::testing::HasSubstr("a cluster has workers"));
}

}  // namespace
}  // namespace shoal::testing
