// SPDX-License-Identifier: Apache-2.0
// RuntimeOptions::memory_limit: a program that needs more is refused before it is computed, with advice (docs/memory.md).
#include "fixture.h"
#include "shoal/base/resident_bytes.h"
#include "shoal/graph/ops_reduce.h"

namespace shoal::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

constexpr int64_t kMiB = 1 << 20;

/// The kernel has 16 MiB, so weights, gradients and one slot have 48.
EstimatorSpec wide_model(const Features& features, const Labels& labels, Mode mode, const Params&, const RunConfig&) {
  EstimatorSpec spec;
  spec.mode = mode;
  const Value hidden =
      nn::dense(features.single(), {.units = 4 * kMiB, .use_bias = false, .kernel_initializer = nn::zeros()});
  const Value y = ops::reduce_mean(hidden, {.axes = {1}});
  spec.predictions = {{"y", y}};
  if (mode == Mode::kPredict) return spec;
  spec.loss = ops::reduce_mean(ops::square(y - ops::reshape(labels.single(), {-1})));
  if (mode == Mode::kTrain) spec.train_op = nn::sgd({.learning_rate = 1e-6, .momentum = 0.5}).minimize(spec.loss);
  return spec;
}

class MemoryLimit : public ::testing::Test {
 protected:
  /// A limit that exceeds the present memory of the process by `bytes`.
  static RunConfigOptions beside_what_there_is(int64_t bytes) {
    return {.runtime =
                RuntimeOptions{.threads = 1, .backend = "reference", .memory_limit = int64_t(resident_bytes()) + bytes}};
  }
  static Dataset rows(int64_t batch) { return line({1, 2, 3, 4}).repeat().batch(batch); }
  template <class Call>
  static std::string refusal(Call call) {
    try {
      call();
    } catch (const Exception& exception) {
      EXPECT_EQ(exception.kind(), ErrorKind::kFailedPrecondition);
      return exception.what();
    }
    return "";
  }

  Place place_;
};

TEST_F(MemoryLimit, TrainingWithinItIsTrained) {
  auto estimator = place_.estimator(wide_model, beside_what_there_is(400 * kMiB));
  estimator.train([] { return rows(2); }, {.steps = 1});
  EXPECT_GE(place_.log.count('I', "memory: at most "), 1);
  EXPECT_GE(place_.log.count('I', "weights 16.0, gradients 16.0, slots 16.0, a checkpoint 32.0, activations "), 1);
}

TEST_F(MemoryLimit, TrainingBeyondItIsRefusedBeforeAStep) {
  auto estimator = place_.estimator(wide_model, beside_what_there_is(60 * kMiB));
  EXPECT_THAT(
      refusal([&] { estimator.train([] { return rows(2); }, {.steps = 1}); }),
      AllOf(HasSubstr("the program for batch 2 takes "), HasSubstr("the process so far "), HasSubstr("weights 16.0, "),
            HasSubstr(", and runtime.memory_limit is "), HasSubstr("; what helps, the most first: ")));
  EXPECT_FALSE(estimator.latest_checkpoint());
}

TEST_F(MemoryLimit, ALargerBatchIsRefusedByItsActivations) {
  auto estimator = place_.estimator(wide_model, beside_what_there_is(400 * kMiB));
  EXPECT_THAT(refusal([&] { estimator.train([] { return rows(64); }, {.steps = 1}); }),
              MatchesRegex(".*the most first: a smaller batch or nn::recompute.*"));
}

TEST_F(MemoryLimit, EndsABatchThatDoesNotFitWhileItIsCollected) {
  auto estimator = place_.estimator(wide_model, beside_what_there_is(20 * kMiB));
  const std::string why = refusal([&] { estimator.train([] { return rows(1'000'000'000'000); }, {.steps = 1}); });
  EXPECT_THAT(why, AllOf(HasSubstr("batch(1000000000000): its first "), HasSubstr("make the batch smaller")));
}

TEST_F(MemoryLimit, IsAskedAgainForBatchesOfOtherSizes) {
  auto estimator = place_.estimator(wide_model, beside_what_there_is(400 * kMiB));
  const auto growing = [] { return line({1, 2}).batch(2).concatenate(line(std::vector<float>(64, 1)).batch(64)); };
  EXPECT_THAT(refusal([&] { estimator.train(growing, {.steps = 2}); }), HasSubstr("the program for batch 64 takes "));
}

TEST_F(MemoryLimit, HoldsForEvaluationsAndPredictions) {
  place_.estimator(wide_model).train([] { return rows(1); }, {.steps = 1});
  auto estimator = place_.estimator(wide_model, beside_what_there_is(8 * kMiB));
  EXPECT_THAT(refusal([&] { estimator.evaluate([] { return rows(1); }, {.steps = 1}); }),
              AllOf(HasSubstr("the model takes "), HasSubstr("weights 16.0")));
  EXPECT_THAT(refusal([&] { estimator.predict([] { return rows(1); })->next(); }), HasSubstr("the model takes "));
  auto roomy = place_.estimator(wide_model, beside_what_there_is(400 * kMiB));
  EXPECT_TRUE(roomy.evaluate([] { return rows(1); }, {.steps = 1}).contains("loss"));
  EXPECT_THAT(refusal([&] { roomy.evaluate([] { return rows(64); }, {.steps = 1}); }),
              HasSubstr("the program for batch 64 takes "));
}

TEST_F(MemoryLimit, IsAtLeastAMebibyte) {
  EXPECT_THAT(refusal([] {
                try {
                  RunConfig config({.runtime = RuntimeOptions{.memory_limit = kMiB - 1}});
                } catch (const Exception& exception) {
                  raise(failed_precondition(exception.what()));
                }
              }),
              HasSubstr("runtime.memory_limit: 1048575 is out of range, accepted is >= 1048576"));
  EXPECT_EQ(RunConfig().replace({{"runtime.memory_limit", "2097152"}}).memory_limit(), 2 * kMiB);
}

}  // namespace
}  // namespace shoal::testing
