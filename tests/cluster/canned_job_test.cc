/// A canned estimator of text and numbers as whole jobs: the bits of one process, and learning.
#include "coloured.h"
#include "jobs.h"
#include "shoal/estimator/canned.h"

namespace shoal::testing {
namespace {

using namespace columns;

ModelFn wide_and_deep() {
  const Column colour = categorical_by_hash("colour", {.buckets = 50});
  const WideAndDeepOptions options{
      .linear = {.columns = {colour, bucketized(numeric("x"), {-1.5, 1.5}),
                             crossed({"colour", bucketized(numeric("x"), {-1.5, 1.5})}, {.buckets = 20})},
                 .optimizer = nn::ftrl({.learning_rate = 0.5})},
      .dnn = {.columns = {numeric("x"), embedding(colour, {.dimension = 4})},
              .hidden_units = {8},
              .optimizer = nn::adagrad({.learning_rate = 0.1})}};
  RunConfigOptions unused;
  unused.model_dir = "unused";  // The job has its own.
  return wide_and_deep_classifier(options, {.label_vocabulary = {"no", "yes"}}, RunConfig(std::move(unused))).model_fn();
}

JobSpec spec_of(int64_t steps) {
  return {.model = wide_and_deep(),
          .max_steps = steps,
          .input = coloured_examples().shuffle(60).repeat().batch(10),
          .eval_input = coloured_examples().batch(7)};
}

TEST(CannedJob, ASynchronousClusterHasTheBitsOfReplicas) {
  Job local;
  JobSpec replicas = spec_of(30);
  replicas.replicas = 2;
  run_locally(local, replicas);
  for (const std::string transport : {"inproc", "shm"}) {
    Job job;
    JobSpec spec = spec_of(30);
    spec.size = {.ps = 2, .workers = 1};
    spec.updates = {.kind = UpdateStrategyKind::kSync};
    spec.transport = transport;
    run_job(job, spec);
    job.expect_all_ended_well();
    EXPECT_EQ(job.last_tensors(), local.last_tensors()) << transport;
  }
}

TEST(CannedJob, AnAsynchronousClusterLearns) {
  Job job;
  JobSpec spec = spec_of(600);
  spec.size = {.ps = 2, .workers = 2, .evaluator = true};
  run_job(job, spec);
  job.expect_all_ended_well();
  EXPECT_EQ(job.reports.at("evaluator 0").metrics.at("accuracy"), 1);
}

}  // namespace
}  // namespace shoal::testing
