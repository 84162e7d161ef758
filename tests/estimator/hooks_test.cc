// SPDX-License-Identifier: Apache-2.0
// Hooks: order of calls, stopping, fetching and feeding, the built-in ones, the interval timer (CONTRACT 7 and 11).
#include "shoal/estimator/hooks.h"

#include <cmath>
#include <limits>

#include "fixture.h"

namespace shoal::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(HookOrder, OfOneRun) {
  Place place;
  auto hook = std::make_shared<RecordingHook>();
  place.estimator(counting_model).train([] { return losses({0.5f, 0.25f, 4}); }, {.steps = 2, .hooks = {hook}});
  EXPECT_THAT(hook->calls(),
              ElementsAre("begin", "ready 0", "before 0", "after 1 (0.5)", "before 1", "after 2 (0.25)", "end 2"));
}

TEST(HookOrder, IsListOrderInEveryCallback) {
  Place place;
  std::vector<std::string> calls;
  const auto hook = [&](const std::string& name) { return std::make_shared<RecordingHook>(name, &calls); };
  const ModelFn model = [&](const Features& features, const Labels& labels, Mode mode, const Params& params,
                            const RunConfig& config) {
    EstimatorSpec spec = counting_model(features, labels, mode, params, config);
    spec.training_hooks = {hook("model")};
    spec.training_chief_hooks = {hook("chief")};
    spec.evaluation_hooks = {hook("evaluation")};
    return spec;
  };
  place.estimator(model).train([] { return losses({1}); }, {.hooks = {hook("a"), hook("b")}});
  // The chief's hooks of the model, the caller's, the model's own: HK-6.
  EXPECT_THAT(calls, ElementsAre("chief begin", "a begin", "b begin", "model begin",                          //
                                 "chief ready 0", "a ready 0", "b ready 0", "model ready 0",                  //
                                 "chief before 0", "a before 0", "b before 0", "model before 0",              //
                                 "chief after 1 (1)", "a after 1 (1)", "b after 1 (1)", "model after 1 (1)",  //
                                 "chief before 1", "a before 1", "b before 1", "model before 1",  // The input ended.
                                 "chief end 1", "a end 1", "b end 1", "model end 1"));
}

TEST(HookOrder, EndOfInputHasNoAfterStep) {
  Place place;
  auto hook = std::make_shared<RecordingHook>();
  place.estimator(counting_model).train([] { return losses({1}); }, {.hooks = {hook}});
  EXPECT_THAT(hook->calls(), ElementsAre("begin", "ready 0", "before 0", "after 1 (1)", "before 1", "end 1"));
}

TEST(HookOrder, AnErrorHasNeitherAfterStepNorEnd) {
  Place place;
  auto hook = std::make_shared<RecordingHook>();
  const InputFn failing = [] {
    return losses({1, 2, 3}).map([](data::Element element) -> Result<data::Element> {
      if (element.features.single().as<float>()[0] == 2) return data_loss("the second is bad");
      return element;
    });
  };
  EXPECT_THAT(refusal([&] { place.estimator(counting_model).train(failing, {.hooks = {hook}}); }, ErrorKind::kDataLoss),
              HasSubstr("the second is bad"));
  EXPECT_THAT(hook->calls(), ElementsAre("begin", "ready 0", "before 0", "after 1 (1)", "before 1"));
  EXPECT_THAT(retained(place.model_dir()), ElementsAre("model.ckpt-0"));
}

TEST(HookOrder, AStopRequestLetsTheIterationFinish) {
  for (const bool before : {true, false}) {
    Place place;
    std::vector<std::string> calls;
    auto stopping = std::make_shared<FunctionHook>();
    if (before)
      stopping->before = [](RunContext& run, StepRequest&) { run.request_stop(); };
    else
      stopping->after = [](RunContext& run, const StepValues&) { run.request_stop(); };
    place.estimator(counting_model)
        .train(endless, {.hooks = {std::make_shared<RecordingHook>("a", &calls), stopping,
                                   std::make_shared<RecordingHook>("b", &calls)}});
    EXPECT_THAT(calls, ElementsAre("a begin", "b begin", "a ready 0", "b ready 0", "a before 0", "b before 0",
                                   "a after 1 (1)", "b after 1 (1)", "a end 1", "b end 1"));
  }
}

TEST(HookOrder, AStopRequestWhenReadyMakesNoStep) {
  Place place;
  auto hook = std::make_shared<FunctionHook>();
  hook->at_ready = [](RunContext& run) { run.request_stop(); };
  auto recorder = std::make_shared<RecordingHook>();
  place.estimator(counting_model).train(endless, {.hooks = {hook, recorder}});
  EXPECT_THAT(recorder->calls(), ElementsAre("begin", "ready 0", "end 0"));
}

TEST(HookOrder, ADueCheckpointIsWrittenBeforeAfterStep) {
  Place place;
  std::vector<size_t> saved;
  place.estimator(counting_model, {.save_checkpoints_steps = 2})
      .train(endless, {.steps = 4, .hooks = {after_each_step([&](RunContext&, const StepValues&) {
                                     saved.push_back(retained(place.model_dir()).size());
                                   })}});
  EXPECT_THAT(saved, ElementsAre(1, 2, 2, 3));
}

TEST(HookContext, TellsTheRun) {
  Place place;
  place.estimator(counting_model).train(endless, {.steps = 5});
  std::vector<std::string> seen;
  place.estimator(counting_model)
      .train(
          [] {
            return losses({1, 1, 1}).unbatch().batch(2);
          },
          {.hooks = {after_each_step([&](RunContext& run, const StepValues& values) {
             EXPECT_TRUE(run.is_chief());
             EXPECT_EQ(run.model_dir(), place.model_dir());
             EXPECT_NE(run.summaries(), nullptr);
             seen.push_back(std::to_string(run.global_step()) + " " + std::to_string(run.iterations()) + " " +
                            std::to_string(values.examples()));
           })}});
  EXPECT_THAT(seen, ElementsAre("6 1 2", "7 2 1"));
}

// NaN.

TEST(NanGuard, FailsAfterTheCallersHooksSawTheStep) {
  Place place;
  auto hook = std::make_shared<RecordingHook>();
  const std::string message = refusal(
      [&] {
        place.estimator(counting_model, {.save_checkpoints_steps = 2})
            .train(
                [] {
                  return losses({1, 2, 3, kNan, 5});
                },
                {.hooks = {hook}});
      },
      ErrorKind::kNanLoss);
  EXPECT_THAT(message, AllOf(HasSubstr("NaN"), HasSubstr("step 4")));
  EXPECT_EQ(exit_status(ErrorKind::kNanLoss), 3);
  EXPECT_EQ(hook->calls().back(), "after 4 (nan)");  // The hook sees the step, and end() is not called.
  // A checkpoint was due at that step.
  EXPECT_THAT(retained(place.model_dir()), ElementsAre("model.ckpt-0", "model.ckpt-2"));
}

TEST(NanGuard, WithoutADueCheckpointSavesNothing) {
  Place place;
  auto model_hook = std::make_shared<RecordingHook>();
  const ModelFn model = [&](const Features& features, const Labels& labels, Mode mode, const Params& params,
                            const RunConfig& config) {
    EstimatorSpec spec = counting_model(features, labels, mode, params, config);
    spec.training_hooks = {model_hook};
    return spec;
  };
  Estimator estimator = place.estimator(model, {.save_checkpoints_steps = 10});
  refusal(
      [&] {
        train_and_evaluate(estimator, {.input_fn = [] { return losses({1, 2, kNan}); }}, {.input_fn = endless});
      },
      ErrorKind::kNanLoss);
  EXPECT_THAT(retained(place.model_dir()), ElementsAre("model.ckpt-0"));
  EXPECT_EQ(end_mark(place.model_dir()), std::nullopt);
  EXPECT_FALSE(std::filesystem::exists(place.model_dir() + "/eval"));
  // The hook comes after the guard in the list, and does not see the step.
  EXPECT_EQ(model_hook->calls().back(), "before 2");
}

TEST(NanGuard, MayStopQuietly) {
  Place place;
  auto recorder = std::make_shared<RecordingHook>();
  Estimator estimator = place.estimator(counting_model);
  const Metrics metrics = estimator.evaluate(
      [] {
        return losses({1, kNan, 3});
      },
      {.hooks = {nan_guard({.fail = false}), recorder}});
  EXPECT_TRUE(std::isnan(metrics.at("loss")));
  EXPECT_THAT(recorder->calls(),
              ElementsAre("begin", "ready 0", "before 0", "after 0 (1)", "before 0", "after 0 (nan)", "end 0"));
  EXPECT_EQ(place.log.count('E', "NaN"), 1);
}

// Fetching and feeding.

TEST(HookValues, AreFetchedWithTheStepsThatAsk) {
  Place place;
  std::vector<std::vector<float>> seen;
  auto hook = std::make_shared<FunctionHook>();
  hook->at_begin = [](HookSetup& setup) {
    const Value features = setup.graph().find("features");
    ASSERT_TRUE(features.valid());
    setup.fetch("tripled", features * 3.0);  // begin() may still add to the graph.
    setup.fetch("again", setup.loss() * 1.0);
  };
  hook->before = [](RunContext& run, StepRequest& request) {
    if (run.global_step() % 2 == 1) request.fetch();
  };
  hook->after = [&](RunContext& run, const StepValues& values) {
    EXPECT_EQ(values.fetched(), run.global_step() % 2 == 0);
    if (!values.fetched()) {
      EXPECT_THAT(refusal([&] { (void)values["tripled"]; }, ErrorKind::kFailedPrecondition), HasSubstr("fetch()"));
      return;
    }
    seen.push_back({values["tripled"].as<float>()[0], values["again"].as<float>()[0]});
    EXPECT_THAT(refusal([&] { (void)values["trippled"]; }, ErrorKind::kNotFound), HasSubstr("trippled"));
  };
  place.estimator(counting_model, {.save_summary_steps = 0}).train([] { return losses({1, 2, 3, 4}); }, {.hooks = {hook}});
  EXPECT_THAT(seen, ElementsAre(ElementsAre(6, 2), ElementsAre(12, 4)));
}

/// counting_model, and a variable that counts its steps, which nothing reads.
EstimatorSpec model_with_a_counter(const Features& features, const Labels& labels, Mode mode, const Params& params,
                                   const RunConfig& config) {
  EstimatorSpec spec = counting_model(features, labels, mode, params, config);
  Graph& graph = spec.loss.graph();
  const Value counter = graph.variable("counter", Shape{}, {.trainable = false});
  if (mode == Mode::kTrain) spec.train_op = nn::train_op({.updates = {nn::assign_add(counter, graph.constant(1.0f))}});
  return spec;
}

/// The values of the counter that a hook fetches in each second step of six, as "step: value".
std::vector<std::string> counts_seen(Place& place, RunConfigOptions config) {
  std::vector<std::string> seen;
  auto hook = std::make_shared<FunctionHook>();
  hook->at_begin = [](HookSetup& setup) { setup.fetch("counter", setup.graph().find("counter")); };
  hook->before = [](RunContext& run, StepRequest& request) {
    if (run.iterations() % 2 == 1) request.fetch();
  };
  hook->after = [&](RunContext& run, const StepValues& values) {
    if (!values.fetched()) return;
    seen.push_back(std::to_string(run.global_step()) + ": " + std::to_string(int(values["counter"].as<float>()[0])));
  };
  config.save_summary_steps = 0;
  place.estimator(model_with_a_counter, std::move(config)).train(endless, {.steps = 6, .hooks = {hook}});
  return seen;
}

TEST(HookValues, MayBeVariablesThatTrainingDoesNotRead) {
  Place place, place_of_two;
  const auto expected = ElementsAre("2: 1", "4: 3", "6: 5");  // The values from before the step.
  EXPECT_THAT(counts_seen(place, {}), expected);
  EXPECT_THAT(counts_seen(place_of_two, {.runtime = RuntimeOptions{.replicas = 2}}), expected);
}

TEST(HookValues, OneNameIsOneValue) {
  Place place;
  const auto fetching = [](std::string name, double factor) {
    auto hook = std::make_shared<FunctionHook>();
    hook->at_begin = [=](HookSetup& setup) { setup.fetch(name, factor == 1 ? setup.loss() : setup.loss() * factor); };
    return hook;
  };
  Estimator estimator = place.estimator(counting_model);
  estimator.train(endless, {.steps = 1, .hooks = {fetching("x", 1), fetching("x", 1)}});
  EXPECT_THAT(refusal([&] {
                estimator.train(endless, {.steps = 1, .hooks = {fetching("x", 1), fetching("x", 2)}});
              }),
              HasSubstr("x"));
}

// The built-in hooks, tested by what they leave in the folder and in the log.

TEST(SummarySaver, RecordsTheFirstStepAndThenEveryN) {
  Place place;
  const ModelFn model = [](const Features& features, const Labels& labels, Mode mode, const Params& params,
                           const RunConfig& config) {
    EstimatorSpec spec = counting_model(features, labels, mode, params, config);
    spec.summaries = {{"doubled", spec.loss * 2.0}};
    return spec;
  };
  std::vector<float> values;
  for (int i = 1; i <= 26; ++i) values.push_back(float(i));
  place.estimator(model, {.save_summary_steps = 8}).train([&] { return losses(values); });
  EXPECT_EQ(scalars(place.model_dir(), "loss"), (Scalars{{1, 1}, {9, 9}, {17, 17}, {25, 25}}));
  EXPECT_EQ(scalars(place.model_dir(), "doubled"), (Scalars{{1, 2}, {9, 18}, {17, 34}, {25, 50}}));
}

TEST(SummarySaver, IsThereWithoutTheModelsHelpAndGoesOnInTheNextRun) {
  Place place;
  Estimator estimator = place.estimator(counting_model, {.save_summary_steps = 5});
  estimator.train(endless, {.steps = 7});
  estimator.train(endless, {.steps = 7});
  EXPECT_THAT(steps_of(place.model_dir(), "loss"), ElementsAre(1, 6, 8, 13));
}

TEST(SummarySaver, WritesTheLearningRates) {
  Place place;
  const auto model = [](const Features& features, const Labels& labels, Mode mode, const Params& params,
                        const RunConfig& config) {
    EstimatorSpec spec = linear_model(features, labels, mode, params, config);
    const auto rate = [](uint64_t step) { return step < 2 ? 0.5 : 0.25; };
    spec.train_op = nn::group({nn::sgd({.learning_rate = rate}).minimize(spec.loss, {"linear/kernel"}),
                               nn::sgd({.learning_rate = 0.125}).minimize(spec.loss, {"linear/bias"})});
    return spec;
  };
  place.estimator(model, {.save_summary_steps = 1}).train([] { return line({1}).repeat().batch(1); }, {.steps = 3});
  EXPECT_THAT(scalars(place.model_dir(), "learning_rate"), ElementsAre(Pair(1, 0.5), Pair(2, 0.5), Pair(3, 0.25)));
  EXPECT_THAT(scalars(place.model_dir(), "learning_rate_2"), ElementsAre(Pair(1, 0.125), Pair(2, 0.125), Pair(3, 0.125)));
}

TEST(SummarySaver, WritesNothingWhenTurnedOff) {
  for (const std::optional<int64_t> off : {std::optional<int64_t>(0), std::optional<int64_t>()}) {
    Place place;
    place.estimator(counting_model, {.save_summary_steps = off}).train(endless, {.steps = 3});
    EXPECT_THAT(value_or_raise(monitor::list_event_files(*make_file_storage(), place.model_dir())), IsEmpty());
  }
}

TEST(SummarySaver, KeepsWhatCameBeforeAnError) {
  Place place;
  refusal([&] { place.estimator(counting_model, {.save_summary_steps = 1}).train([] {
                  return losses({1, 2, kNan});
                }); },
          ErrorKind::kNanLoss);
  const Scalars seen = scalars(place.model_dir(), "loss");
  ASSERT_GE(seen.size(), 2u);
  EXPECT_EQ(seen[1], (std::pair<int64_t, double>(2, 2)));
}

TEST(StepCounter, FirstOnlyStartsTheClock) {
  Place place;
  place.estimator(counting_model, {.log_step_count_steps = 10}).train(endless, {.steps = 30});
  EXPECT_THAT(steps_of(place.model_dir(), "global_step/sec"), ElementsAre(11, 21));
  for (const auto& [step, rate] : scalars(place.model_dir(), "global_step/sec")) EXPECT_GT(rate, 0);
  EXPECT_EQ(place.log.count('I', "global_step/sec: "), 2);
}

TEST(StepCounter, WarnsWhenTheGlobalStepStandsStill) {
  Place place;
  const ModelFn standing = [](const Features& features, const Labels& labels, Mode mode, const Params& params,
                              const RunConfig& config) {
    EstimatorSpec spec = counting_model(features, labels, mode, params, config);
    if (mode == Mode::kTrain) spec.train_op = nn::train_op({.advances_global_step = false});
    return spec;
  };
  auto hook = std::make_shared<RecordingHook>();
  place.estimator(standing).train([] { return losses(std::vector<float>(30, 1)); }, {.max_steps = 5, .hooks = {hook}});
  // The limit max_steps never triggers.
  EXPECT_EQ(std::count(hook->calls().begin(), hook->calls().end(), "after 0 (1)"), 30);
  EXPECT_EQ(place.log.count('W', "has stood at 0"), 1);
  EXPECT_EQ(place.log.count('W', "which is never reached: the train_op does not advance the global step"), 1);
  EXPECT_EQ(place.log.count('W', "repeat()"), 0) << "such an input would never end";
  EXPECT_THAT(retained(place.model_dir()), ElementsAre("model.ckpt-0"));
}

TEST(LossLogger, SpeaksFirstAtTheFirstIteration) {
  Place place;
  Estimator estimator = place.estimator(counting_model, {.log_step_count_steps = 4});
  estimator.train(endless, {.steps = 3});
  place.log.clear();
  estimator.train(endless, {.steps = 10});
  std::vector<std::string> lines;
  for (const std::string& line : place.log.all('I')) {
    if (line.starts_with("loss = ")) lines.push_back(line.substr(0, line.find(" (")));
  }
  EXPECT_THAT(lines, ElementsAre("loss = 1, step = 4", "loss = 1, step = 8", "loss = 1, step = 12"));
}

TEST(LossLogger, IsSilentWhenTurnedOff) {
  Place place;
  place.estimator(counting_model, {.log_step_count_steps = std::nullopt}).train(endless, {.steps = 30});
  EXPECT_EQ(place.log.count('I', "loss = "), 0);
  EXPECT_THAT(steps_of(place.model_dir(), "global_step/sec"), IsEmpty());
}

TEST(StopAtStep, CountsFromTheStartOrAbsolutely) {
  Place place;
  Estimator estimator = place.estimator(counting_model);
  const auto four_more = stop_at_step({.num_steps = 4});
  estimator.train(endless, {.hooks = {four_more}});
  EXPECT_EQ(estimator.latest_checkpoint(), place.model_dir() + "/model.ckpt-4");
  estimator.train(endless, {.hooks = {four_more}});  // The same hook counts from 0 in another run.
  EXPECT_EQ(estimator.latest_checkpoint(), place.model_dir() + "/model.ckpt-8");
  estimator.train(endless, {.hooks = {stop_at_step({.last_step = 11})}});
  EXPECT_EQ(estimator.latest_checkpoint(), place.model_dir() + "/model.ckpt-11");
  estimator.train(endless, {.hooks = {stop_at_step({.last_step = 11})}});  // The hook looks after the update.
  EXPECT_EQ(estimator.latest_checkpoint(), place.model_dir() + "/model.ckpt-12");
}

TEST(StopAtStep, TakesExactlyOneLimit) {
  EXPECT_THAT(refusal([] { stop_at_step({}); }), HasSubstr("exactly one"));
  EXPECT_THAT(refusal([] { stop_at_step({.num_steps = 1, .last_step = 1}); }), HasSubstr("exactly one"));
  EXPECT_THAT(refusal([] { stop_at_step({.num_steps = 0}); }), HasSubstr("greater than 0"));
  EXPECT_THAT(refusal([] { stop_at_step({.last_step = -1}); }), HasSubstr("greater than 0"));
}

// The interval timer (HK-7).

std::vector<uint64_t> triggers(IntervalTimer timer, std::vector<std::pair<uint64_t, int>> questions) {
  std::vector<uint64_t> due;
  for (const auto& [step, second] : questions) {
    const SteadyTime now = SteadyTime() + std::chrono::seconds(second);
    if (!timer.due(step, now)) continue;
    timer.trigger(step, now);
    due.push_back(step);
  }
  return due;
}

TEST(IntervalTimer, CountsSteps) {
  EXPECT_THAT(triggers({3, std::nullopt}, {{1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 0}, {9, 0}, {11, 0}, {12, 0}}),
              ElementsAre(1, 4, 9, 12));
}

TEST(IntervalTimer, CountsSecondsButNeverTwiceAtOneStep) {
  EXPECT_THAT(triggers({std::nullopt, 2.5}, {{1, 0}, {2, 2}, {3, 3}, {3, 9}, {4, 9}, {5, 11}, {6, 12}}),
              ElementsAre(1, 3, 4, 6));
}

TEST(IntervalTimer, TellsWhatPassed) {
  IntervalTimer timer(1, std::nullopt);
  const auto first = timer.trigger(5, SteadyTime() + std::chrono::seconds(7));
  EXPECT_EQ(first.steps, 0u);
  EXPECT_EQ(first.time, Duration::zero());
  const auto second = timer.trigger(9, SteadyTime() + std::chrono::seconds(10));
  EXPECT_EQ(second.steps, 4u);
  EXPECT_EQ(second.time, std::chrono::seconds(3));
}

TEST(IntervalTimer, TakesOneModeAndZeroIsNever) {
  EXPECT_THAT(refusal([] { IntervalTimer(1, 1.0); }), HasSubstr("not in both"));
  EXPECT_THAT(triggers({std::nullopt, std::nullopt}, {{1, 0}, {100, 100}}), IsEmpty());
  EXPECT_THAT(triggers({0, std::nullopt}, {{1, 0}, {100, 100}}), IsEmpty());
  EXPECT_THAT(triggers({std::nullopt, 0.0}, {{1, 0}, {100, 100}}), IsEmpty());
}

}  // namespace
}  // namespace shoal::testing
