// SPDX-License-Identifier: Apache-2.0
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
  unused.model_dir = "unused";  // The job has a model_dir of its own.
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
  expect_the_bits_of_replicas(spec_of, local);
}

TEST(CannedJob, AnAsynchronousClusterLearns) { expect_all_learned(spec_of(600)); }

}  // namespace
}  // namespace shoal::testing
