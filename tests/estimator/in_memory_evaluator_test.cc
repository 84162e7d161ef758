// SPDX-License-Identifier: Apache-2.0
// The hook that evaluates while it trains, and the variables that it reads between steps (CONTRACT HK-11).
#include "shoal/estimator/in_memory_evaluator.h"

#include "fixture.h"

namespace shoal::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Dataset points() { return line({0, 1, 2, 3}).repeat().batch(2); }
Dataset test_points() { return line({4, 5, 6}).batch(2); }

/// A linear model that is trained for a number of steps with the hook.
struct InMemory : ::testing::Test {
  Place place;
  RunConfigOptions config;
  std::shared_ptr<Hook> hook(InMemoryEvaluatorOptions options) {
    return in_memory_evaluator(place.estimator(linear_model, config), test_points, std::move(options));
  }
  void train(int64_t steps, std::vector<std::shared_ptr<Hook>> hooks) {
    place.estimator(linear_model, config).train(points, {.steps = steps, .hooks = std::move(hooks)});
  }
  Scalars results(const std::string& folder = "eval") const { return scalars(place.model_dir() + "/" + folder, "loss"); }
  std::vector<int64_t> evaluated() const { return steps_of(place.model_dir() + "/eval", "loss"); }
};

TEST_F(InMemory, EvaluatesAtTheStartEverySoManyStepsAndAtTheEnd) {
  train(10, {hook({.every_iterations = 4})});
  EXPECT_THAT(evaluated(), ElementsAre(0, 4, 8, 10));
}

TEST_F(InMemory, EvaluatesNoStepTwice) {
  train(8, {hook({.every_iterations = 4})});
  EXPECT_THAT(evaluated(), ElementsAre(0, 4, 8));
}

TEST_F(InMemory, EvaluatesEveryHundredthStepUnlessSaidOtherwise) {
  train(205, {hook({})});
  EXPECT_THAT(evaluated(), ElementsAre(0, 100, 200, 205));
}

TEST_F(InMemory, CountsTheStepsOfTheRun) {
  train(3, {});
  train(5, {hook({.every_iterations = 4})});
  EXPECT_THAT(evaluated(), ElementsAre(3, 7, 8));
}

TEST_F(InMemory, GivesWhatCheckpointsOfThoseStepsGive) {
  config.save_checkpoints_steps = 4;
  train(10, {hook({.every_iterations = 4})});
  const Estimator estimator = place.estimator(linear_model, config);
  for (const int64_t step : {0, 4, 8, 10}) {
    const std::string prefix = place.model_dir() + "/model.ckpt-" + std::to_string(step);
    estimator.evaluate(test_points, {.checkpoint = prefix, .name = "stored"});
  }
  EXPECT_EQ(results(), results("eval_stored"));
  EXPECT_EQ(scalars(place.model_dir() + "/eval", "average_loss"),
            scalars(place.model_dir() + "/eval_stored", "average_loss"));
  EXPECT_NE(results()[0].second, results()[1].second);
}

TEST_F(InMemory, NeedsNoCheckpointAndNamesNone) {
  config.save_checkpoints_steps = std::nullopt;
  train(3, {hook({.every_iterations = 2})});
  EXPECT_THAT(retained(place.model_dir()), IsEmpty());
  EXPECT_THAT(evaluated(), ElementsAre(0, 2, 3));
  value_or_raise(
      monitor::read_events(*make_file_storage(), place.model_dir() + "/eval", [](const monitor::EventValue& value) {
        EXPECT_NE(value.tag, "checkpoint_path");
        return true;
      }));
}

TEST_F(InMemory, TrainsTheSameBits) {
  train(10, {hook({.every_iterations = 1})});
  Place without;
  without.estimator(linear_model).train(points, {.steps = 10});
  EXPECT_EQ(tensors(place.model_dir() + "/model.ckpt-10"), tensors(without.model_dir() + "/model.ckpt-10"));
}

TEST_F(InMemory, TakesStepsHooksAndANameAsEvaluateDoes) {
  int batches = 0;
  const auto count = after_each_step([&batches](RunContext&, const StepValues&) { ++batches; });
  train(2, {hook({.steps = 1, .hooks = {count}, .name = "often", .every_iterations = 1})});
  EXPECT_EQ(batches, 3);
  EXPECT_EQ(results("eval_often").size(), 3u);
  EXPECT_THAT(evaluated(), IsEmpty());
}

TEST_F(InMemory, RunsBesideTheEvaluationsOfLocalMode) {
  config.save_checkpoints_steps = 5;
  Estimator estimator = place.estimator(linear_model, config);
  const auto often = in_memory_evaluator(estimator, test_points, {.name = "often", .every_iterations = 3});
  train_and_evaluate(estimator, {.input_fn = points, .max_steps = 10, .hooks = {often}},
                     {.input_fn = test_points, .throttle_secs = 0});
  EXPECT_THAT(evaluated(), ElementsAre(5, 10));
  EXPECT_THAT(steps_of(place.model_dir() + "/eval_often", "loss"), ElementsAre(0, 3, 6, 9, 10));
  EXPECT_EQ(results().back().second, results("eval_often").back().second);
}

TEST_F(InMemory, AFailedEvaluationEndsTheRun) {
  const auto broken =
      in_memory_evaluator(place.estimator(linear_model), []() -> Dataset { throw std::runtime_error("no test data"); });
  EXPECT_THROW(train(3, {broken}), std::runtime_error);
}

/// A model that builds different networks for training and evaluation.
EstimatorSpec two_faced_model(const Features& features, const Labels& labels, Mode mode, const Params& params,
                              const RunConfig& config) {
  if (mode == Mode::kTrain) return linear_model(features, labels, mode, params, config);
  EstimatorSpec spec;
  spec.mode = mode;
  const std::string name = params.get_string("name", "linear");
  spec.loss = ops::reduce_mean(nn::dense(features.single(), {.units = 3, .name = name}));
  return spec;
}

TEST_F(InMemory, RefusesAModelOfOtherVariables) {
  const auto train_two_faced = [&](Params params) {
    Estimator estimator = place.estimator(two_faced_model, {}, std::move(params));
    estimator.train(points, {.steps = 1, .hooks = {in_memory_evaluator(estimator, test_points)}});
  };
  EXPECT_THAT(refusal([&] { train_two_faced({}); }),
              HasSubstr("variable linear/kernel is float32 [1, 1] in training and float32 [3, 1] in evaluation"));
  EXPECT_THAT(refusal(
                  [&] {
                    train_two_faced({{"name", "other"}});
                  },
                  ErrorKind::kNotFound),
              HasSubstr("no variable other/kernel is trained"));
}

TEST_F(InMemory, RefusesWhatCannotBe) {
  EXPECT_THAT(refusal([&] { hook({.every_iterations = 0}); }), HasSubstr("every_iterations must be greater than 0, not 0"));
  EXPECT_THAT(refusal([&] { hook({.every_iterations = -4}); }), HasSubstr("not -4"));
  EXPECT_THAT(refusal([&] { hook({.steps = 0}); }), HasSubstr("in_memory_evaluator: steps must be greater than 0"));
  EXPECT_THAT(refusal([&] { hook({.hooks = {nullptr}}); }), HasSubstr("in_memory_evaluator: hooks: one of them is null"));
  EXPECT_THAT(refusal([&] { hook({.name = "a/b"}); }), HasSubstr("in_memory_evaluator: name: \"a/b\""));
  EXPECT_THAT(refusal([&] { in_memory_evaluator(place.estimator(linear_model), nullptr); }, ErrorKind::kTypeMismatch),
              HasSubstr("an input function is required"));
}

TEST_F(InMemory, IsForOneProcess) {
  const auto in_cluster = [&](const std::string& cluster) {
    const std::string text =
        R"({"cluster": {"chief": ["localhost:1"])" + cluster + R"(}, "task": {"type": "chief", "index": 0}})";
    RunConfigOptions options;
    options.model_dir = place.model_dir();
    const RunConfig task = RunConfig::from_environment(options, environment(text));
    return in_memory_evaluator(Estimator(linear_model, task), test_points);
  };
  EXPECT_NE(in_cluster(""), nullptr);
  for (const std::string cluster :
       {R"(, "ps": ["localhost:2"])", R"(, "ps": ["localhost:2"], "worker": ["localhost:3"])"}) {
    EXPECT_THAT(refusal([&] { in_cluster(cluster); }, ErrorKind::kFailedPrecondition),
                AllOf(HasSubstr("in_memory_evaluator: the cluster of chief 0 has 1 parameter servers"),
                      HasSubstr("give the cluster an evaluator")));
  }
}

TEST(LiveVariables, AreThoseOfTheLastUpdate) {
  Place place;
  std::vector<float> seen;
  const auto look = std::make_shared<FunctionHook>();
  const auto note = [&seen](RunContext& run) { seen.push_back(run.variable("linear/bias").as<float>()[0]); };
  look->at_ready = note;
  look->before = [note](RunContext& run, StepRequest&) { note(run); };
  look->after = [note](RunContext& run, const StepValues&) { note(run); };
  look->at_end = note;
  place.estimator(linear_model).train([] { return line({1}).repeat().batch(1); }, {.steps = 2, .hooks = {look}});
  ASSERT_EQ(seen.size(), 6u);  // The bias goes 0, 0.6, 1.26.
  const std::vector<float> expected{0, 0, 0.6f, 0.6f, 1.26f, 1.26f};
  for (size_t i = 0; i < seen.size(); ++i) EXPECT_NEAR(seen[i], expected[i], 1e-6) << i;
}

TEST(LiveVariables, AreReadByNameWhereSomethingIsTrained) {
  Place place;
  Estimator estimator = place.estimator(linear_model);
  const auto reads = [](const std::string& name) {
    return after_each_step([name](RunContext& run, const StepValues&) { run.variable(name); });
  };
  EXPECT_THAT(refusal([&] { estimator.train(points, {.steps = 1, .hooks = {reads("w")}}); }, ErrorKind::kNotFound),
              HasSubstr("no variable w is trained; there are: linear/bias, linear/kernel"));
  EXPECT_THAT(
      refusal([&] { estimator.train(points, {.steps = 1, .hooks = {reads("linear/kernels")}}); }, ErrorKind::kNotFound),
      HasSubstr("no variable linear/kernels is trained; did you mean linear/kernel?; there are: linear/bias"));
  EXPECT_THAT(refusal([&] { (void)estimator.evaluate(test_points, {.hooks = {reads("linear/bias")}}); },
                      ErrorKind::kFailedPrecondition),
              HasSubstr("only training has variables that change"));
}

}  // namespace
}  // namespace shoal::testing
