// SPDX-License-Identifier: Apache-2.0
// Functions of the program's own that throw: the task whose function it is ends with an error that names the function, and the
// process goes on.
#include <stdexcept>

#include "jobs.h"

namespace shoal::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// The error of a task of a job with one server and an evaluator.
std::string error_of(const std::string& task, JobSpec spec) {
  Job job;
  spec.size = {.ps = 1, .evaluator = true};
  spec.max_steps = 20;
  run_job(job, spec);
  const Result<void> result = job.result_of(task);
  return result ? "" : result.error().message();
}

/// The linear model with the metric "mine", one of whose functions throws or fails.
ModelFn model_with_metric(const std::string& which) {
  return [which](const Features& features, const Labels& labels, Mode mode, const Params& params, const RunConfig& config) {
    EstimatorSpec spec = counted_linear_model(features, labels, mode, params, config);
    const auto here = [which](const std::string& place) {
      if (which == place) throw std::runtime_error("oh");
    };
    nn::Metric metric{.inputs = {spec.predictions[0].second}, .start = {0}, .update = {}, .value = {}, .merge = {}};
    metric.update = [here, which](std::span<const TensorView> batch, std::span<double>) -> Result<void> {
      here("update");
      if (which == "type") static_cast<void>(batch[0].as<int64_t>());
      if (which == "error") return invalid_argument("too few");
      return {};
    };
    metric.value = [here](std::span<const double> totals) {
      here("value");
      return totals[0];
    };
    metric.figure = [here](std::span<const double>) {
      here("figure");
      return nn::MetricFigure{};
    };
    if (mode == Mode::kEval) spec.eval_metrics.emplace_back("mine", metric);
    return spec;
  };
}

TEST(UserFunctionsOfAJob, AMetricThatThrowsIsNamed) {
  for (const char* const which : {"update", "value", "figure"}) {
    SCOPED_TRACE(which);
    EXPECT_EQ(error_of("evaluator 0", {.size = {}, .model = model_with_metric(which)}),
              "metric mine threw an exception: oh");
  }
  EXPECT_THAT(error_of("evaluator 0", {.size = {}, .model = model_with_metric("type")}),
              AllOf(HasSubstr("metric mine: "), HasSubstr("float32, not int64")));
  EXPECT_THAT(error_of("evaluator 0", {.size = {}, .model = model_with_metric("error")}),
              HasSubstr("metric mine: too few"));
}

/// In a local run the evaluation is a listener of checkpoints, of which the user knows nothing.
TEST(UserFunctionsOfAJob, AMetricThatThrowsIsNamedInALocalRunToo) {
  const JobSpec spec{.size = {}, .model = model_with_metric("error"), .max_steps = 20};
  Job job;
  try {
    train_task_of(spec, RunConfig(job_options(spec, job.model_dir())));
    FAIL() << "no error";
  } catch (const Exception& error) {
    EXPECT_STREQ(error.what(), "metric mine: too few");
  }
}

TEST(UserFunctionsOfAJob, ALearningRateThatThrowsIsNamed) {
  const auto model = [](const Features& features, const Labels& labels, Mode mode, const Params& params,
                        const RunConfig& config) {
    EstimatorSpec spec = linear_model(features, labels, mode, params, config);
    const auto rate = [](uint64_t step) { return step < 3 ? 0.01 : throw std::out_of_range("no rate"); };
    if (mode == Mode::kTrain) spec.train_op = nn::sgd({.learning_rate = rate}).minimize(spec.loss);
    return spec;
  };
  EXPECT_THAT(error_of("chief 0", {.size = {}, .model = model}), AllOf(HasSubstr("learning_rate"), HasSubstr("no rate")));
}

TEST(UserFunctionsOfAJob, APlacementThatThrowsIsNamed) {
  const auto placement = [](const PlacementRequest&) -> int32_t { throw std::runtime_error("no place"); };
  EXPECT_EQ(error_of("chief 0", {.size = {}, .placement = placement}), "placement threw an exception: no place");
}

}  // namespace
}  // namespace shoal::testing
