// SPDX-License-Identifier: Apache-2.0
// The parts of an Estimator, and the specifications that its model_fn may return (CONTRACT 9).
#include <filesystem>

#include "fixture.h"
#include "shoal/estimator/run_cluster.h"

namespace shoal::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Specifications that a model_fn may not return (EST-7).

TEST(ModelFn, WhatASpecLacksIsNamed) {
  const auto refused = [](ModelFn model, ErrorKind kind = ErrorKind::kInvalidArgument) {
    Place place;
    Estimator estimator = place.estimator(std::move(model));
    return refusal([&] { estimator.train([] { return line({1}).batch(1); }, {.steps = 1}); }, kind);
  };
  const auto changed = [](std::function<void(EstimatorSpec&, const Features&)> change) -> ModelFn {
    return
        [change](const Features& features, const Labels& labels, Mode mode, const Params& params, const RunConfig& config) {
          EstimatorSpec spec = linear_model(features, labels, mode, params, config);
          change(spec, features);
          return spec;
        };
  };
  EXPECT_THAT(refused(changed([](EstimatorSpec& spec, const Features&) { spec.loss = Value(); })), HasSubstr("no loss"));
  EXPECT_THAT(refused(changed([](EstimatorSpec& spec, const Features&) { spec.train_op.reset(); })),
              HasSubstr("no train_op"));
  EXPECT_THAT(refused(changed([](EstimatorSpec& spec, const Features& features) { spec.loss = features.single(); })),
              HasSubstr("loss must be one float32"));
  EXPECT_THAT(refused(changed([](EstimatorSpec& spec, const Features&) { spec.mode = Mode::kEval; })), HasSubstr("eval"));
  EXPECT_THAT(refused(changed([](EstimatorSpec& spec, const Features&) { spec.training_hooks = {nullptr}; })),
              HasSubstr("hook"));
  for (const char* name : {"loss", "global_step"}) {
    Place place;
    Estimator estimator = place.estimator(changed([name](EstimatorSpec& spec, const Features& features) {
      if (spec.mode == Mode::kEval) spec.eval_metrics = {{name, nn::mean(features.single())}};
    }));
    EXPECT_THAT(refusal([&] { (void)estimator.evaluate([] { return line({1}).batch(1); }); }),
                AllOf(HasSubstr(name), HasSubstr("reserved")));
  }
  Place twice;
  Estimator doubled = twice.estimator(changed([](EstimatorSpec& spec, const Features& features) {
    if (spec.mode == Mode::kEval)
      spec.eval_metrics = {{"rmse", nn::mean(features.single())}, {"rmse", nn::mean(spec.loss)}};
  }));
  EXPECT_THAT(refusal([&] { (void)doubled.evaluate([] { return line({1}).batch(1); }); }),
              HasSubstr("two metrics are named rmse"));
  Place place;
  Estimator estimator = place.estimator(changed([](EstimatorSpec& spec, const Features&) { spec.predictions.clear(); }));
  EXPECT_THAT(refusal([&] { (void)estimator.predict([] { return line({1}).batch(1); }); }), HasSubstr("no predictions"));
}

TEST(Estimator, ChecksWhatItIsMadeOf) {
  Place place;
  EXPECT_THAT(refusal([&] { Estimator(nullptr, place.config()); }), HasSubstr("model_fn"));
  EXPECT_THAT(refusal([&] { Estimator(counting_model, place.config(), {}, ""); }), HasSubstr("empty"));
  EXPECT_THAT(refusal([&] { Estimator(counting_model, place.config(), {}, "elsewhere"); }),
              AllOf(HasSubstr("elsewhere"), HasSubstr(place.model_dir())));
  EXPECT_EQ(Estimator(counting_model, place.config(), {}, place.model_dir()).model_dir(), place.model_dir());
  EXPECT_EQ(Estimator(counting_model, RunConfig(), {}, place.model_dir()).model_dir(), place.model_dir());
}

TEST(Estimator, WithoutModelDirUsesAFreshTemporaryFolder) {
  ::testing::internal::CaptureStderr();
  const Estimator a(counting_model, RunConfig()), b(counting_model, RunConfig());
  const std::string printed = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(a.model_dir(), b.model_dir());
  for (const std::string& folder : {a.model_dir(), b.model_dir()}) {
    EXPECT_THAT(printed, HasSubstr(folder));
    EXPECT_TRUE(std::filesystem::remove(folder));  // The folder exists and is empty.
  }
}

TEST(Estimator, SaysInItsHostsLogWhereItsTemporaryFolderIs) {
  Place place;
  ::testing::internal::CaptureStderr();
  const Estimator estimator(counting_model, RunConfig().with_host(place.config().host()));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(place.log.count('W', "no model_dir was given; results go to the temporary folder " + estimator.model_dir()), 1);
  EXPECT_TRUE(std::filesystem::remove(estimator.model_dir()));
}

TEST(Estimator, LeavesNoTemporaryFolderThatIsEmpty) {  // CONTRACT TE-3
  Place place;
  const auto host = place.config().host();
  std::string folder;
  {
    const Estimator estimator(counting_model, RunConfig().with_host(host));
    folder = estimator.model_dir();
    Estimator copy = estimator.with_config(RunConfig().with_host(host));
    EXPECT_THROW(train_and_evaluate(copy, {.input_fn = endless, .max_steps = 0}, {.input_fn = endless}), Exception);
    EXPECT_TRUE(std::filesystem::exists(folder));
  }
  EXPECT_FALSE(std::filesystem::exists(folder));
  {
    Estimator estimator(counting_model, RunConfig().with_host(host));
    folder = estimator.model_dir();
    estimator.train(endless, {.steps = 1});
  }
  EXPECT_TRUE(std::filesystem::exists(folder + "/model.ckpt-1.index"));
  std::filesystem::remove_all(folder);
}

TEST(Estimator, RunsAsThreadsWithoutLeavingATemporaryFolderThatIsEmpty) {  // CONTRACT TE-3
  std::string folder;
  const auto outcomes = run_cluster(*cluster::parse_cluster_size("ps:1"), [&folder](const RunConfig& config) {
    if (config.is_chief()) folder = *config.model_dir();
    raise(invalid_argument("a wrong argument"));
  });
  for (const TaskOutcome& outcome : outcomes) {
    EXPECT_FALSE(outcome.result);
  }
  EXPECT_FALSE(folder.empty());
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(Estimator, CopiesItsParams) {
  Place place;
  Params params{{"learning_rate", 0.1}};
  Estimator estimator = place.estimator(linear_model, {}, params);
  params.set("learning_rate", 100.0);
  double seen_by_input = 0;
  estimator.train([&](const InputContext& context) {
    seen_by_input = context.params.get_real("learning_rate");
    return line({1}).batch(1);
  });
  EXPECT_EQ(seen_by_input, 0.1);
  EXPECT_THAT(floats(estimator.variable_value("linear/kernel")), ElementsAre(0.6f));
}

TEST(Estimator, InspectsCheckpointsOnlyWhereThereAre) {
  Place place;
  const Estimator estimator = place.estimator(linear_model);
  EXPECT_EQ(estimator.latest_checkpoint(), std::nullopt);
  refusal([&] { (void)estimator.variable_names(); }, ErrorKind::kNotFound);
  refusal([&] { (void)estimator.variable_value("linear/kernel"); }, ErrorKind::kNotFound);
  EXPECT_EQ(estimator.eval_dir(), place.model_dir() + "/eval");
  EXPECT_EQ(estimator.eval_dir("x"), place.model_dir() + "/eval_x");
  place.estimator(linear_model).train([] { return line({1}).batch(1); });
  EXPECT_THAT(refusal([&] { (void)estimator.variable_value("linear/kernl"); }, ErrorKind::kNotFound),
              HasSubstr("linear/kernl"));
}

TEST(Estimator, TrainRefusesATaskThatHasNotMetTheOthers) {
  Place place;
  const cluster::Place second{.source = cluster::ConfigSource::kOption,
                              .rank = 2,
                              .size = 3,
                              .rendezvous = {"127.0.0.1:1"},
                              .plan = {.ps = 1, .workers = 1}};
  Estimator estimator(counting_model, RunConfig({.model_dir = place.model_dir()}, cluster::task_of_place(second)));
  EXPECT_THAT(refusal([&] { estimator.train(endless, {.steps = 1}); }, ErrorKind::kFailedPrecondition),
              HasSubstr("RunConfig::from_environment()"));
}

TEST(Estimator, WithoutCheckpointsASecondCallSaysThatItBeginsAnew) {
  Place place;
  Estimator estimator = place.estimator(counting_model, {.save_checkpoints_steps = std::nullopt});
  const InputFn endless = [] { return losses({1}).repeat(); };
  estimator.train(endless, {.steps = 3});
  EXPECT_THAT(place.log.all('W'), ::testing::IsEmpty());
  estimator.train(endless, {.steps = 3});
  EXPECT_THAT(place.log.all('W'), ElementsAre(HasSubstr("the weights of step 3, which an earlier call trained without")));
}

TEST(Estimator, TrainPointsOtherRolesToTrainAndEvaluate) {
  for (const char* type : {"ps", "evaluator"}) {
    Place place;
    const std::string tf_config = R"({"cluster": {"chief": ["127.0.0.1:1"], "ps": ["127.0.0.1:2"]}, "task": {"type": ")" +
                                  std::string(type) + R"(", "index": 0}})";
    Estimator estimator(counting_model,
                        RunConfig::from_environment({.model_dir = place.model_dir()}, environment(tf_config)));
    EXPECT_THAT(refusal([&] { estimator.train(endless, {.steps = 1}); }, ErrorKind::kFailedPrecondition),
                HasSubstr("train_and_evaluate"));
  }
}

}  // namespace
}  // namespace shoal::testing
