// SPDX-License-Identifier: Apache-2.0
// Experiments: what run_experiment() makes, runs and returns.
#include "shoal/estimator/experiment.h"

#include <nlohmann/json.hpp>

#include "run_program.h"

namespace shoal::testing {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

Experiment make_experiment(const RunConfig& config, const CommandLine& line) {
  return {.estimator = Estimator(counting_model, config),
          .train_spec = {.input_fn = endless, .max_steps = line.steps},
          .eval_spec = {.input_fn = [] { return losses({0.25f}); }, .throttle_secs = 0}};
}

TEST(Experiment, IsTheMainOfAProgram) {
  const Place place;
  std::vector<const char*> argv{"program", "--json",    "--steps",   "6",          "--units",
                                "4",       "--backend", "reference", "--model-dir"};
  const std::string model_dir = place.model_dir();
  argv.push_back(model_dir.c_str());
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const int status = run_experiment(int(argv.size()), argv.data(), kProgram, make_experiment);
  const std::string out = ::testing::internal::GetCapturedStdout(), err = ::testing::internal::GetCapturedStderr();
  ASSERT_EQ(status, 0) << err;
  const Json report = Json::parse(out);
  EXPECT_EQ(report.at("status"), "complete");
  EXPECT_EQ(report.at("loss"), 0.25);
  EXPECT_EQ(report.at("flags").at("units"), 4);
  EXPECT_EQ(report, Json::parse(std::ifstream(model_dir + "/report.json")));
}

TEST(Experiment, ReturnsWhatCameOfIt) {
  Place place;
  for (const int64_t steps : {3, 5}) {  // Any number of them in one process.
    const std::string model_dir = place.folder / std::to_string(steps);
    CommandLine line{.steps = steps, .batch = 16};
    line.flags.set("units", 8);
    const ExperimentReport report = run_experiment(make_experiment, place.config({.model_dir = model_dir}), line);
    EXPECT_EQ(report.status, ExperimentStatus::kComplete);
    EXPECT_EQ(report.error, "");
    EXPECT_EQ(report.global_step, uint64_t(steps));
    EXPECT_EQ(report.metrics.at("loss"), 0.25);
    EXPECT_EQ(report.last, report.metrics);
    EXPECT_EQ(report.best.at("loss"), 0.25);
    EXPECT_EQ(report.model_dir, model_dir);
    EXPECT_EQ(report.seed, 7);
    EXPECT_EQ(report.trial, std::nullopt);
    EXPECT_EQ(report.export_path, "");
    EXPECT_GT(report.seconds.value_or(0), 0);
    EXPECT_EQ(report.parameters.get_int("units"), 8);
    EXPECT_EQ(report.parameters.get_int("steps"), steps);
    EXPECT_EQ(report.parameters.get_int("batch"), 16);
    EXPECT_EQ(report.version, Json::parse(report.to_json()).at("version"));
    EXPECT_EQ(place.report.global_step, uint64_t(steps));  // The host of the config hears of it as well.
  }
}

TEST(Experiment, KnowsItsTrial) {
  Place place;
  cluster::TaskConfig task;
  task.trial = "t-3";
  const RunConfig config =
      RunConfig({.model_dir = place.model_dir(), .runtime = RuntimeOptions{.threads = 1, .backend = "reference"}}, task);
  EXPECT_EQ(run_experiment(make_experiment, config, {.steps = 2}).trial, "t-3");
}

TEST(Experiment, OfAFinishedRunHasTheEvaluationsOfTheFolder) {
  Place place;
  run_experiment(make_experiment, place.config(), {.steps = 4});
  const ExperimentReport again = run_experiment(make_experiment, place.config(), {.steps = 4});
  EXPECT_TRUE(again.metrics.empty());
  EXPECT_EQ(again.last.at("loss"), 0.25);
  EXPECT_EQ(again.last.integer("global_step"), 4);
  EXPECT_EQ(again.best.at("loss"), 0.25);
}

TEST(Experiment, RaisesItsErrors) {
  Place place;
  const ExperimentFn none;
  EXPECT_THAT(refusal([&] { run_experiment(none, place.config(), {.steps = 2}); }), HasSubstr("run_experiment: "));
  const ExperimentFn refuses = [](const RunConfig&, const CommandLine&) -> Experiment { raise(not_found("no data")); };
  EXPECT_THAT(refusal([&] { run_experiment(refuses, place.config(), {.steps = 2}); }, ErrorKind::kNotFound),
              HasSubstr("no data"));
  EXPECT_THAT(refusal([&] { run_experiment(make_experiment, place.config(), {.steps = 0}); }), HasSubstr("max_steps"));
  const auto value = try_run_experiment(make_experiment, place.config(), {.steps = 0});
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().kind(), ErrorKind::kInvalidArgument);
}

TEST(Experiment, IsStoppedByItsConfig) {
  Place place;
  const ExperimentFn stopping = [&place](const RunConfig& config, const CommandLine& line) {
    Experiment experiment = make_experiment(config, line);
    experiment.train_spec.hooks = {after_each_step([&place](RunContext& run, const StepValues&) {
      if (run.global_step() == 3) place.interrupt.request_stop();
    })};
    return experiment;
  };
  const ExperimentReport report = run_experiment(stopping, place.config(), {.steps = 100'000'000});
  EXPECT_EQ(report.status, ExperimentStatus::kInterrupted);
  EXPECT_EQ(Json::parse(report.to_json()).at("status"), "interrupted");
}

TEST(ExperimentReport, IsJsonWhateverItHolds) {
  ExperimentReport report{
      .status = ExperimentStatus::kFailed, .error = "line\n\"two\"", .model_dir = "caf\xE9", .version = "1"};
  report.metrics["accuracy"] = std::nan("");
  report.parameters.set("words", std::vector<std::string>{"a", "b"});
  const Json json = Json::parse(report.to_json());
  EXPECT_EQ(json.at("status"), "failed");
  EXPECT_EQ(json.at("error"), "line\n\"two\"");
  EXPECT_EQ(json.at("model_dir"), "caf\xEF\xBF\xBD");
  EXPECT_EQ(json.at("flags").at("words"), Json({"a", "b"}));
  EXPECT_FALSE(json.contains("seed"));
  EXPECT_EQ(report.to_json().find('\n'), std::string::npos);
}

}  // namespace
}  // namespace shoal::testing
