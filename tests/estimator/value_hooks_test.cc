// SPDX-License-Identifier: Apache-2.0
// Hooks that report values of the model: log_values() and final_values(), and the names that they find (CONTRACT HK-3,
// HK-8).
#include "shoal/estimator/value_hooks.h"

#include <cmath>
#include <limits>

#include "fixture.h"
#include "hooks/loop_context.h"
#include "shoal/base/virtual.h"
#include "shoal/estimator/hooks.h"

namespace shoal::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

// Names of values.

/// counting_model with a named value, a value that only the model function knows, and a hook for that one.
EstimatorSpec model_with_names(const Features& features, const Labels& labels, Mode mode, const Params& params,
                               const RunConfig& config) {
  EstimatorSpec spec = counting_model(features, labels, mode, params, config);
  spec.summaries = {{"half", features.single() * 0.5}};
  spec.named_values = {{"tripled", features.single() * 3.0}, {"fifty", features.single() * 50.0}};
  return spec;
}

/// The lines that log_values() writes for one step with the loss 4.
std::vector<std::string> lines_of(std::vector<ReportedValue> values, const ModelFn& model = model_with_names) {
  Place place;
  place.estimator(model).train([] { return losses({4}); }, {.hooks = {log_values(std::move(values))}});
  std::vector<std::string> lines = place.log.all('I');
  std::erase_if(lines, [](const std::string& line) { return !line.starts_with("step = "); });
  return lines;
}

TEST(ValueNames, FindWhatTheModelNamesAndWhatHasANameByItself) {
  EXPECT_THAT(lines_of({"loss", "tripled", "twice", "features"}),
              ElementsAre("step = 1, loss = 4, tripled = 12, twice = 8, features = 4"));
  EXPECT_THAT(lines_of({"half", "fifty"}), ElementsAre("step = 1, half = 2, fifty = 200"));
  Place place;
  place.estimator(linear_model).train([] { return line({1, 2}).batch(2); }, {.hooks = {log_values({"linear/kernel"})}});
  EXPECT_EQ(place.log.count('I', "step = 1, linear/kernel = 0"), 1) << "as it was before the step";
}

TEST(ValueNames, AreGivenToValuesOfTheModelFunction) {
  const ModelFn model = [](const Features& features, const Labels& labels, Mode mode, const Params& params,
                           const RunConfig& config) {
    EstimatorSpec spec = counting_model(features, labels, mode, params, config);
    spec.training_hooks = {log_values({{"square root", ops::sqrt(features.single())}, "loss"})};
    return spec;
  };
  EXPECT_THAT(lines_of({"twice"}, model), ElementsAre("step = 1, twice = 8", "step = 1, square root = 2, loss = 4"));
}

TEST(ValueNames, ThatTheModelLacksAreRefusedWithThoseThatItHas) {
  Place place;
  Estimator estimator = place.estimator(model_with_names);
  const auto train_with = [&](std::vector<ReportedValue> values) {
    return [&estimator, hook = log_values(std::move(values))] { estimator.train(endless, {.steps = 1, .hooks = {hook}}); };
  };
  EXPECT_THAT(
      refusal(train_with({"trippled"}), ErrorKind::kNotFound),
      AllOf(HasSubstr("the model has no value trippled; did you mean tripled?; there are: tripled, fifty, loss, twice"),
            HasSubstr("EstimatorSpec::named_values names others")));
  Graph other;
  EXPECT_THAT(refusal(train_with({{"x", other.constant(1.0f)}})),
              AllOf(HasSubstr("x is a value of another graph"), HasSubstr("make the hook inside the model function")));
  const ModelFn twice = [](const Features& features, const Labels& labels, Mode mode, const Params& params,
                           const RunConfig& config) {
    EstimatorSpec spec = model_with_names(features, labels, mode, params, config);
    spec.named_values.emplace_back("fifty", spec.loss);
    return spec;
  };
  EXPECT_THAT(refusal([&] { place.estimator(twice).train(endless, {.steps = 1}); }),
              HasSubstr("two named values have the name \"fifty\""));
  const ModelFn none = [](const Features& features, const Labels& labels, Mode mode, const Params& params,
                          const RunConfig& config) {
    EstimatorSpec spec = model_with_names(features, labels, mode, params, config);
    spec.named_values.emplace_back("nothing", Value());
    return spec;
  };
  EXPECT_THAT(refusal([&] { place.estimator(none).train(endless, {.steps = 1}); }),
              HasSubstr("the named value \"nothing\" is no value of the graph"));
}

/// model_with_names, changed.
ModelFn changed(std::function<void(EstimatorSpec&, Value x)> change) {
  return [change = std::move(change)](const Features& features, const Labels& labels, Mode mode, const Params& params,
                                      const RunConfig& config) {
    EstimatorSpec spec = model_with_names(features, labels, mode, params, config);
    spec.eval_metrics = {{"average", nn::mean(features.single())}};
    change(spec, features.single());
    return spec;
  };
}

std::string refusal_of(const ModelFn& model, std::vector<std::shared_ptr<Hook>> hooks = {}) {
  Place place;
  return refusal([&] { place.estimator(model).train(endless, {.steps = 1, .hooks = std::move(hooks)}); });
}

/// Two values of one name are refused, so that none hides the other.
TEST(ValueNames, OfTwoValuesAreRefusedWithBoth) {
  const std::pair<const char*, const char*> taken[] = {{"loss", "the loss"},
                                                       {"twice", "a prediction"},
                                                       {"half", "a summary"},
                                                       {"average", "a metric"},
                                                       {"features", "an input"}};
  for (const auto& [name, what] : taken) {
    const auto named = [name = std::string(name)](EstimatorSpec& spec, Value x) {
      spec.named_values.emplace_back(name, x * 7.0);
    };
    EXPECT_EQ(refusal_of(changed(named)), "model_fn: the named value \"" + std::string(name) + "\" has the name of " +
                                              what + " of the model; give it another one");
    const auto told = [name = std::string(name)](EstimatorSpec& spec, Value x) {
      spec.training_hooks = {log_values({{name, x * 7.0}})};
    };
    EXPECT_EQ(refusal_of(changed(told)), "log_values: a value is given the name " + std::string(name) +
                                             ", which is that of " + what + " of the model; give it another one");
  }
  const auto variable = [](EstimatorSpec& spec, Value x) {
    x.graph().variable("weight", Shape{1});
    spec.named_values.emplace_back("weight", x * 7.0);
  };
  EXPECT_THAT(refusal_of(changed(variable)), HasSubstr("\"weight\" has the name of a variable of the model"));
  // The same value under the same name hides nothing.
  const auto same = [](EstimatorSpec& spec, Value) { spec.named_values.emplace_back("loss", spec.loss); };
  EXPECT_THAT(lines_of({"loss"}, changed(same)), ElementsAre("step = 1, loss = 4"));
}

TEST(ValueNames, ThatMeanTwoValuesAreRefusedWhereTheyAreAskedFor) {
  const auto summary = [](EstimatorSpec& spec, Value x) { spec.summaries = {{"twice", x * 0.5}}; };
  EXPECT_EQ(refusal_of(changed(summary), {log_values({"twice"})}),
            "the model has two values of the name twice, a prediction and a summary; give one of them another name");
  const auto prediction = [](EstimatorSpec& spec, Value x) { spec.predictions = {{"loss", x * 2.0}}; };
  EXPECT_EQ(refusal_of(changed(prediction), {log_values({"loss"})}),
            "the model has two values of the name loss, the loss and a prediction; give one of them another name");
}

TEST(ValueNames, OfPredictionsAndSummariesAreDistinct) {
  EXPECT_THAT(refusal_of(changed([](EstimatorSpec& spec, Value x) { spec.predictions.emplace_back("twice", x); })),
              HasSubstr("model_fn: two predictions are named \"twice\""));
  const auto text = [](EstimatorSpec& spec, Value) { spec.text_predictions.emplace_back("twice", "twice", nullptr); };
  EXPECT_THAT(refusal_of(changed(text)), HasSubstr("model_fn: two predictions are named \"twice\""));
  EXPECT_THAT(refusal_of(changed([](EstimatorSpec& spec, Value x) { spec.summaries.emplace_back("half", x); })),
              HasSubstr("model_fn: two summaries are named \"half\""));
  for (const std::string name : {"loss", "global_step/sec", "job/loss", "trainer_1/batches_per_sec"}) {
    const auto own = [name](EstimatorSpec& spec, Value x) { spec.summaries = {{name, x}}; };
    EXPECT_THAT(refusal_of(changed(own)), HasSubstr("a summary may not be named " + name + ", as training records that"));
  }
}

TEST(ValueText, ShowsNumbersAndTheBeginningOfTensors) {
  const Tensor scalar = Tensor::scalar(0.1f), integers = Tensor::of<int64_t>({2, 1}, {-3, 40}), none(DType::kFloat32, {0});
  const Tensor truth = Tensor::of<bool>(Shape{1}, {true});
  Tensor many(DType::kFloat32, {3, 4});
  for (size_t i = 0; i < 12; ++i) many.mutable_as<float>()[i] = float(i) / 3;
  const Tensor odd = Tensor::of<float>({2}, {std::numeric_limits<float>::infinity(), -1e-12f});
  EXPECT_EQ(to_text({{"a", scalar.view()}, {"b", integers.view()}, {"c", none.view()}, {"d", truth.view()}}),
            "a = 0.1, b = [-3, 40] of [2, 1], c = [], d = true");
  EXPECT_EQ(to_text({{"m", many.view()}}), "m = [0, 0.333333, 0.666667, 1, 1.33333, 1.66667, 2, 2.33333, ...] of [3, 4]");
  EXPECT_EQ(to_text({{"o", odd.view()}}), "o = [inf, -1e-12]");
}

// When values are logged.

/// The iterations, of one second each, at which the hook asks for its values.
std::vector<uint64_t> asked_at(const std::shared_ptr<Hook>& hook, uint64_t iterations) {
  VirtualWorld world;
  LoopContext context(world.add_task({.task = "trainer"}));
  Graph graph;
  const Tensor value = Tensor::scalar(1.0f);
  HookSetup setup(graph, graph.constant(1.0f), {{"x", graph.constant(1.0f)}});
  hook->begin(setup);
  std::vector<uint64_t> asked;
  StepRequest request;
  while (context.iterations() < iterations) {
    request.clear();
    hook->before_step(context, request);
    world.run_for(std::chrono::seconds(1));
    context.count_iteration();
    StepValues values;
    values.set(1, 1, request.fetches());
    values.values() = {{"x", value.view()}};
    if (request.fetches()) asked.push_back(context.iterations());
    hook->after_step(context, values);
  }
  return asked;
}

TEST(LogValues, AreAskedForAtTheFirstStepAndThenAtTheInterval) {
  EXPECT_THAT(asked_at(log_values({"x"}, {.every_iterations = 4}), 10), ElementsAre(1, 5, 9));
  EXPECT_THAT(asked_at(log_values({"x"}), 250), ElementsAre(1, 101, 201)) << "the default";
  EXPECT_THAT(asked_at(log_values({"x"}, {.every_secs = 3}), 10), ElementsAre(1, 4, 7, 10));
  EXPECT_THAT(asked_at(log_values({"x"}, {.every_secs = 0.5}), 3), ElementsAre(1, 2, 3));
  EXPECT_THAT(asked_at(log_values({"x"}, {.at_end = true}), 10), IsEmpty());
  EXPECT_THAT(asked_at(log_values({"x"}, {.every_iterations = 4, .at_end = true}), 6), ElementsAre(1, 5));
}

TEST(LogValues, SayTheSecondsSinceTheLineBefore) {
  Place place;
  place.estimator(counting_model)
      .train(
          [] {
            return losses({1, 2, 3, 4, 5});
          },
          {.hooks = {log_values({"loss"}, {.every_iterations = 2})}});
  std::vector<std::string> lines = place.log.all('I');
  std::erase_if(lines, [](const std::string& line) { return !line.starts_with("step = "); });
  EXPECT_THAT(lines, ElementsAre("step = 1, loss = 1", MatchesRegex(R"(step = 3, loss = 3 \([0-9.]+ s\))"),
                                 MatchesRegex(R"(step = 5, loss = 5 \([0-9.]+ s\))")));
}

TEST(LogValues, AreFormattedByTheCaller) {
  Place place;
  const auto format = [](const NamedTensors& values) {
    return "<" + values[1].first + " is " + std::to_string(int(values[1].second.as<float>()[0])) + ">";
  };
  place.estimator(counting_model)
      .train(
          [] {
            return losses({1, 2});
          },
          {.hooks = {log_values({"loss", "twice"}, {.every_iterations = 1, .format = format})}});
  EXPECT_EQ(place.log.count('I', "<twice is 2>"), 1);
  EXPECT_EQ(place.log.count('I', "<twice is 4>"), 1);
}

TEST(LogValues, MayHaveALineAtTheEnd) {
  Place place;
  place.estimator(linear_model)
      .train(
          [] {
            return line({1, 2, 3}).batch(1);
          },
          {.hooks = {log_values({"linear/bias"}, {.at_end = true})}});
  const float last = place.estimator(linear_model).variable_value("linear/bias").as<float>()[0];
  char expected[64];
  std::snprintf(expected, sizeof expected, "step = 3, linear/bias = %.6g", double(last));
  EXPECT_EQ(place.log.count('I', "linear/bias"), 1) << "that of the end alone";
  EXPECT_EQ(place.log.count('I', expected), 1);
}

TEST(LogValues, WorkInEvaluationAndPrediction) {
  Place place;
  Estimator estimator = place.estimator(model_with_names);
  estimator.evaluate(
      [] {
        return losses({1, 2});
      },
      {.hooks = {log_values({"loss", "tripled"}, {.every_iterations = 1, .at_end = true})}});
  EXPECT_EQ(place.log.count('I', "step = 0, loss = 1, tripled = 3"), 1);
  EXPECT_EQ(place.log.count('I', "step = 0, loss = 2, tripled = 6"), 2) << "the last one at the end again";
  place.log.clear();
  const auto hook = log_values({"tripled", "twice"}, {.every_iterations = 1, .at_end = true});
  const auto predictions = estimator.predict([] { return losses({3, 5}); }, {.hooks = {hook}});
  while (predictions->next()) continue;
  EXPECT_EQ(place.log.count('I', "step = 0, tripled = 9, twice = 6"), 1);
  EXPECT_EQ(place.log.count('I', "step = 0, tripled = 15, twice = 10"), 2);
  EXPECT_THAT(refusal([&] { estimator.predict([] { return losses({3}); }, {.hooks = {log_values({"loss"})}}); },
                      ErrorKind::kNotFound),
              HasSubstr("the model has no value loss"));
}

TEST(LogValues, RefuseWhatMeansNothing) {
  EXPECT_THAT(refusal([] { log_values({}); }), HasSubstr("log_values: name at least one value"));
  EXPECT_THAT(refusal([] { log_values({"x", "x"}); }), HasSubstr("two values have the name x"));
  EXPECT_THAT(refusal([] { log_values({"x", ""}); }), HasSubstr("a value has the name \"\""));
  EXPECT_THAT(refusal([] { log_values({{"x", Value()}}); }), HasSubstr("x is no value of a graph"));
  EXPECT_THAT(refusal([] { log_values({"x"}, {.every_iterations = 5, .every_secs = 1}); }), HasSubstr("choose one"));
  EXPECT_THAT(refusal([] { log_values({"x"}, {.every_iterations = 0}); }), HasSubstr("must be greater than 0"));
  EXPECT_THAT(refusal([] { log_values({"x"}, {.every_secs = std::nan("")}); }), HasSubstr("must be greater than 0"));
}

// Final values.

/// The values that final_values() gives its function, as one number each.
struct Finals {
  std::vector<double> values;
  std::vector<uint64_t> steps;
  std::shared_ptr<Hook> hook(std::vector<ReportedValue> told) {
    return final_values(std::move(told), {.then = [this](RunContext& run, const NamedTensors& named) {
                          steps.push_back(run.global_step());
                          for (const auto& [name, tensor] : named) values.push_back(double(tensor.as<float>()[0]));
                        }});
  }
};

TEST(FinalValues, AreComputedOnceFromTheLastWeightsAndTheLastBatch) {
  for (const int32_t replicas : {1, 2}) {
    for (const std::optional<int64_t> saves : {std::optional<int64_t>(2), std::optional<int64_t>(0)}) {
      Place place;
      Finals finals;
      Estimator estimator = place.estimator(
          linear_model, {.save_checkpoints_steps = saves,
                         .runtime = RuntimeOptions{.threads = 1, .backend = "reference", .replicas = replicas}});
      // The input ends by itself: the batch of the last step is still known.
      estimator.train([] { return line({1, 2, 3, -1, 4}).batch(1); }, {.hooks = {finals.hook({"linear/bias", "loss"})}});
      ASSERT_EQ(finals.steps, std::vector<uint64_t>{5});
      EXPECT_EQ(place.log.count('I', "final values at step 5: linear/bias = "), 1);
      if (*saves == 0) continue;
      EXPECT_EQ(float(finals.values[0]), estimator.variable_value("linear/bias").as<float>()[0]);
      if (replicas > 1) continue;  // Replicas draw from one input in another order.
      const Metrics last = estimator.evaluate([] { return line({4}).batch(1); });
      EXPECT_FLOAT_EQ(float(finals.values[1]), float(last.at("loss"))) << "by the weights after the last update";
    }
  }
}

TEST(FinalValues, TakeTheLastBatchOfARunThatStepsEnd) {
  Place place;
  Finals finals;
  place.estimator(counting_model)
      .train(
          [] {
            return losses({1, 2, 3}).repeat();
          },
          {.steps = 5, .hooks = {finals.hook({"twice"})}});
  EXPECT_THAT(finals.values, ElementsAre(4)) << "the fifth batch is the second again";
}

TEST(FinalValues, AreThereInEvaluationAndPrediction) {
  Place place;
  Finals finals;
  Estimator estimator = place.estimator(model_with_names);
  estimator.evaluate([] { return losses({1, 2, 7}); }, {.hooks = {finals.hook({"tripled"})}});
  estimator.evaluate([] { return losses({1, 2, 7}); }, {.steps = 2, .hooks = {finals.hook({"tripled"})}});
  const auto predictions = estimator.predict([] { return losses({3, 5}); }, {.hooks = {finals.hook({"twice"})}});
  while (predictions->next()) continue;
  EXPECT_THAT(finals.values, ElementsAre(21, 6, 10));
}

TEST(FinalValues, OfARunWithoutThemAreWarnedOf) {
  Place place;
  Finals finals;
  Estimator estimator = place.estimator(counting_model);
  auto stop = std::make_shared<FunctionHook>();
  stop->at_ready = [](RunContext& run) { run.request_stop(); };
  estimator.train(endless, {.hooks = {finals.hook({"loss"}), stop}});
  EXPECT_EQ(place.log.count('W', "final values: there are none, for this run made no step"), 1);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  estimator.train([=] { return losses({1, nan}); }, {.hooks = {finals.hook({"loss"}), nan_guard({.fail = false})}});
  EXPECT_EQ(place.log.count('W', "final values: there are none"), 2);
  EXPECT_THAT(finals.values, IsEmpty());
}

TEST(FinalValues, AreAskedForAtTheEndAlone) {
  Place place;
  auto early = std::make_shared<FunctionHook>();
  early->at_begin = [](HookSetup& setup) { setup.fetch_at_end("x", setup.loss()); };
  early->after = [](RunContext& run, const StepValues&) {
    EXPECT_FALSE(run.has_final_values());
    EXPECT_THAT(refusal([&] { run.final_value("x"); }, ErrorKind::kFailedPrecondition),
                HasSubstr("there are no final values"));
  };
  early->at_end = [](RunContext& run) {
    EXPECT_EQ(run.final_value("x").as<float>()[0], 1);
    EXPECT_THAT(refusal([&] { run.final_value("y"); }, ErrorKind::kNotFound), HasSubstr("no final value y was named"));
  };
  place.estimator(counting_model).train(endless, {.steps = 2, .hooks = {early}});
}

TEST(FinalValues, WhatTheirFunctionThrowsEndsTheRun) {
  Place place;
  const auto hook =
      final_values({"loss"}, {.then = [](RunContext&, const NamedTensors&) { throw std::runtime_error("no"); }});
  EXPECT_THROW(place.estimator(counting_model).train(endless, {.steps = 1, .hooks = {hook}}), std::runtime_error);
}

/// The bits of training do not depend on final values.
TEST(FinalValues, LeaveTheTrainingAsItIs) {
  Place with, without;
  Finals finals;
  const auto train = [](Place& place, std::vector<std::shared_ptr<Hook>> hooks) {
    place.estimator(linear_model, {.save_checkpoints_steps = 3})
        .train(
            [] {
              return line({1, 2, 3, 4}).shuffle(4).repeat().batch(2);
            },
            {.steps = 7, .hooks = std::move(hooks)});
    return tensors(place.model_dir() + "/model.ckpt-7");
  };
  EXPECT_EQ(train(with, {finals.hook({"loss", "linear/kernel"})}), train(without, {}));
}

}  // namespace
}  // namespace shoal::testing
