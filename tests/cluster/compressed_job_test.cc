// SPDX-License-Identifier: Apache-2.0
/// Whole jobs that compress with top-k: the residuals are part of their checkpoints.
#include <algorithm>
#include <latch>
#include <thread>

#include "jobs.h"

namespace shoal::testing {
namespace {

JobSpec compressed(int32_t servers, int64_t steps) {
  return {.size = {.ps = servers},
          .model = split_model,
          .max_steps = steps,
          .input = wide_line,
          .compression = value_or_raise(cluster::parse_compression("top-k:0.05"))};
}

bool has_values(const std::string& tensor) {
  return std::ranges::any_of(tensor, [](char byte) { return byte != 0; });
}

TEST(CompressedJob, GoesOnBitByBit) {
  Job whole, in_parts;
  run_job(whole, compressed(2, 50));
  for (const int64_t steps : {17, 30, 50}) run_job(in_parts, compressed(2, steps));
  in_parts.expect_all_ended_well();
  const auto expected = whole.last_tensors();
  ASSERT_EQ(expected.size(), 16u);  // There are four variables, each with m, v and a residual.
  EXPECT_TRUE(has_values(expected.at("hidden/kernel/residual/0")));
  EXPECT_EQ(in_parts.last_checkpoint(), "model.ckpt-50");
  EXPECT_EQ(in_parts.last_tensors(), expected);
}

TEST(CompressedJob, GoesOnWithAnotherNumberOfServersAndOfTrainers) {
  Job job;
  JobSpec spec = compressed(3, 20);
  spec.size.workers = 2;
  // All trainers wait before any has pushed: a checkpoint would wait for the residual of one that stands still.
  std::latch all_train(3);
  spec.hooks = [&all_train](const RunConfig&) -> std::vector<std::shared_ptr<Hook>> {
    const auto together = std::make_shared<FunctionHook>();
    together->before = [&all_train](RunContext& run, StepRequest&) {
      if (run.iterations() == 0) all_train.arrive_and_wait();
    };
    return {together};
  };
  run_job(job, spec);
  job.expect_all_ended_well();
  const auto tensors = job.last_tensors();
  for (const std::string trainer : {"0", "1", "2"}) {  // Each has trained, and handed in its residual at the end.
    const auto found = tensors.find("hidden/kernel/residual/" + trainer);
    ASSERT_NE(found, tensors.end()) << trainer;
    EXPECT_TRUE(has_values(found->second)) << trainer;
  }
  spec = compressed(2, 40);
  run_job(job, spec);
  job.expect_all_ended_well();
  EXPECT_EQ(job.last_step(), 40);
  spec.compression = {};
  spec.max_steps = 50;
  run_job(job, spec);  // The residuals are of no use without compression.
  job.expect_all_ended_well();
  EXPECT_EQ(job.last_tensors().size(), 12u);
}

JobSpec compressed_sync(int64_t aggregated, int64_t steps) {
  JobSpec spec = compressed(2, steps);
  spec.size.workers = 2;
  spec.save_steps = 4;
  spec.updates = {.kind = UpdateStrategyKind::kSync, .replicas_to_aggregate = aggregated};
  return spec;
}

/// A synchronous step needs the chief, which saves: the other trainers are asked for their residuals with the very
/// update that is saved. So the checkpoint is that of a job that ends there, where all trainers hand them in.
TEST(CompressedJob, ASynchronousCheckpointHasWhatAllHaveKeptBack) {
  for (const int64_t aggregated : {3, 6}) {
    SCOPED_TRACE(std::to_string(aggregated) + " gradients of 3 trainers");
    Job longer, shorter;
    run_job(longer, compressed_sync(aggregated, 12));
    run_job(shorter, compressed_sync(aggregated, 8));
    longer.expect_all_ended_well();
    EXPECT_EQ(longer.log.count('W', "without the residual of"), 0);
    const auto saved = tensors(longer.model_dir() + "/model.ckpt-8");
    ASSERT_TRUE(saved.contains("hidden/kernel/residual/2"));
    EXPECT_TRUE(has_values(saved.at("hidden/kernel/residual/2")));
    EXPECT_EQ(shorter.last_checkpoint(), "model.ckpt-8");
    EXPECT_EQ(saved, shorter.last_tensors());
  }
}

/// A save by time may be due with any push of an update: it waits for the last of them.
TEST(CompressedJob, ASaveThatIsDueByTimeComesWithAnUpdate) {
  Job job;
  JobSpec spec = compressed_sync(6, 60);
  spec.save_steps = {};
  spec.save_secs = 0.003;
  run_job(job, spec);
  job.expect_all_ended_well();
  EXPECT_EQ(job.log.count('W', "without the residual of"), 0);
  ASSERT_GE(retained(job.model_dir()).size(), 3u);
  for (const std::string& name : retained(job.model_dir())) {
    if (name == "model.ckpt-0") continue;
    EXPECT_TRUE(tensors(job.model_dir() + "/" + name).contains("hidden/kernel/residual/2")) << name;
  }
}

/// A chief whose input has ended goes on saving while the others push, and are asked with their next push.
TEST(CompressedJob, AChiefThatRestsSavesWhatTheOthersKeepBack) {
  Job job;
  JobSpec spec = compressed_sync(3, 0);
  spec.max_steps = std::nullopt;
  spec.input = [](const InputContext& context) {
    return wide_line_once().repeat(context.config.trainer_index() == 0 ? 1 : 10).batch(4);
  };
  spec.hooks = [](const RunConfig& config) -> std::vector<std::shared_ptr<Hook>> {
    if (config.trainer_index() == 0) return {};
    return {after_each_step([](RunContext&, const StepValues&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // The chief looks four times a second.
    })};
  };
  run_job(job, spec);
  job.expect_all_ended_well();
  EXPECT_EQ(job.last_step(), 40);
  EXPECT_EQ(job.log.count('W', "without the residual of"), 0);
  int while_it_rests = 0;
  for (const std::string& name : retained(job.model_dir())) {
    if (name == "model.ckpt-0") continue;
    while_it_rests += name != "model.ckpt-4" && name != "model.ckpt-40";
    EXPECT_TRUE(tensors(job.model_dir() + "/" + name).contains("hidden/kernel/residual/2")) << name;
  }
  EXPECT_GE(while_it_rests, 1);
}

TEST(CompressedJob, GoesOnWhereAServerHasNoVariables) {
  Job job;
  JobSpec spec = compressed(3, 10);  // The model has two variables, and neither is split.
  spec.model = linear_model;
  spec.input = JobSpec().input;
  spec.size.workers = 1;
  spec.updates = {.kind = UpdateStrategyKind::kSync};
  run_job(job, spec);
  spec.max_steps = 20;
  run_job(job, spec);
  job.expect_all_ended_well();
  const auto at_start =
      tensors(job.model_dir() + "/model.ckpt-10");  // The second job writes this checkpoint again, before its first step.
  EXPECT_TRUE(at_start.contains("linear/kernel/residual/0"));
  EXPECT_TRUE(at_start.contains("linear/kernel/residual/1"));
}

/// A large fraction makes messages that are larger than the arenas.
TEST(CompressedJob, ALargeFractionTravels) {
  Job job;
  JobSpec spec = compressed(1, 3);
  spec.model = [](const Features& features, const Labels& labels, Mode mode, const Params&, const RunConfig&) {
    EstimatorSpec model;
    model.mode = mode;
    const Value hidden = nn::dense(features.single(), {.units = 20000});
    model.loss =
        nn::reduce_loss(nn::squared_error({.labels = labels.single(), .predictions = nn::dense(hidden, {.units = 1})}));
    if (mode == Mode::kTrain) model.train_op = nn::sgd({.learning_rate = 1e-6}).minimize(model.loss);
    return model;
  };
  spec.compression = value_or_raise(cluster::parse_compression("top-k:0.6"));
  spec.size.workers = 1;
  spec.transport = "shm";
  run_job(job, spec);
  job.expect_all_ended_well();
  EXPECT_GE(job.last_step(), 3);
}

}  // namespace
}  // namespace shoal::testing
