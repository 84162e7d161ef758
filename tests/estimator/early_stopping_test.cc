// SPDX-License-Identifier: Apache-2.0
// Early stopping: which results its hooks read, when they look, and when they stop (CONTRACT HK-12).
#include "shoal/estimator/early_stopping.h"

#include <cmath>

#include "fixture.h"
#include "hooks/loop_context.h"
#include "shoal/base/virtual.h"
#include "shoal/estimator/in_memory_evaluator.h"
#include "shoal/monitor/event_writer.h"

namespace shoal::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const EarlyStoppingOptions kEachStep{.run_every_secs = std::nullopt, .run_every_steps = 1};
EarlyStoppingOptions each_step_from(int64_t min_steps) {
  EarlyStoppingOptions options = kEachStep;
  options.min_steps = min_steps;
  return options;
}

/// A training run of at most five steps, beside results of evaluations that were written before.
struct EarlyStop : ::testing::Test {
  Place place;
  VirtualWorld world;
  Environment& env = world.add_task({.task = "evaluator 0", .sink = place.log.sink()});

  std::string eval_dir() const { return place.model_dir() + "/eval"; }
  /// One file with results by step.
  std::string write_events(const std::vector<std::pair<int64_t, Metrics>>& results, const std::string& folder) {
    const auto writer = value_or_raise(monitor::EventWriter::open(env, folder));
    for (const auto& [step, metrics] : results) {
      for (const auto& [name, value] : metrics) value_or_raise(writer->add_scalar(step, name, value));
      value_or_raise(writer->add_text(step, "checkpoint_path", "m/model.ckpt"));
    }
    value_or_raise(writer->close());
    return writer->path();
  }
  /// The results in the example of CONTRACT HK-12.
  void write_example() {
    write_events({{1000, {{"loss", .8}, {"accuracy", .5}}},
                  {2000, {{"loss", .7}, {"accuracy", .6}}},
                  {3000, {{"loss", .4}, {"accuracy", .7}}},
                  {3500, {{"loss", .41}, {"accuracy", .68}}}},
                 eval_dir());
  }
  uint64_t steps_with(std::vector<std::shared_ptr<Hook>> hooks) {
    uint64_t steps = 0;
    hooks.push_back(after_each_step([&steps](RunContext& run, const StepValues&) { steps = run.iterations(); }));
    place.estimator(counting_model).train(endless, {.steps = 5, .hooks = std::move(hooks)});
    return steps;
  }
  /// Whether the hook stops at the first step.
  bool stops(std::shared_ptr<Hook> hook) {
    const uint64_t steps = steps_with({std::move(hook)});
    EXPECT_TRUE(steps == 1 || steps == 5) << steps;
    return steps == 1;
  }
};

TEST_F(EarlyStop, StopsBeyondAThreshold) {
  write_example();
  EXPECT_TRUE(stops(stop_if_higher("accuracy", .6, kEachStep)));
  EXPECT_FALSE(stops(stop_if_higher("accuracy", .8, kEachStep)));
  EXPECT_TRUE(stops(stop_if_lower("loss", .5, kEachStep)));
  EXPECT_FALSE(stops(stop_if_lower("loss", .3, kEachStep)));
  EXPECT_EQ(place.log.count('I', "accuracy was 0.7 at 3000, higher than 0.6"), 1);
  EXPECT_EQ(place.log.count('I', "loss was 0.4 at 3000, lower than 0.5"), 1);
}

TEST_F(EarlyStop, AThresholdThatIsReachedIsNotBeyond) {
  write_example();  // As float32, 0.7 is a little less than it is as a double, and 0.4 a little more.
  EXPECT_FALSE(stops(stop_if_higher("accuracy", .7, kEachStep)));
  EXPECT_FALSE(stops(stop_if_lower("loss", .4, kEachStep)));
  write_events({{4000, {{"accuracy", .8}, {"loss", .1}}}}, eval_dir());
  EXPECT_FALSE(stops(stop_if_higher("accuracy", .8, kEachStep)));
  EXPECT_FALSE(stops(stop_if_lower("loss", .1, kEachStep)));
}

TEST_F(EarlyStop, StopsWithoutImprovement) {
  write_example();
  EXPECT_TRUE(stops(stop_if_no_increase("accuracy", 500, kEachStep)));
  EXPECT_FALSE(stops(stop_if_no_increase("accuracy", 1500, kEachStep)));
  EXPECT_TRUE(stops(stop_if_no_decrease("loss", 500, kEachStep)));
  EXPECT_FALSE(stops(stop_if_no_decrease("loss", 1500, kEachStep)));
  EXPECT_EQ(place.log.count('I', "accuracy was 0.7 at 3000, and not higher until 3500"), 1);
}

TEST_F(EarlyStop, EqualIsNoImprovementAndAnOldPlateauCounts) {
  write_events({{100, {{"accuracy", .5}}}, {200, {{"accuracy", .5}}}, {300, {{"accuracy", .5}}}, {400, {{"accuracy", .9}}}},
               eval_dir());
  EXPECT_TRUE(stops(stop_if_no_increase("accuracy", 200, kEachStep)));
  EXPECT_FALSE(stops(stop_if_no_increase("accuracy", 201, kEachStep)));
}

TEST_F(EarlyStop, AnyNumberIsBetterThanNan) {
  write_events({{100, {{"loss", NAN}}}, {200, {{"loss", .5}}}, {300, {{"loss", NAN}}}, {350, {{"loss", .4}}}}, eval_dir());
  EXPECT_FALSE(stops(stop_if_no_decrease("loss", 160, kEachStep)));
  EXPECT_TRUE(stops(stop_if_no_decrease("loss", 100, kEachStep)));
  EXPECT_FALSE(stops(stop_if_lower("loss", .3, kEachStep)));
  write_events({{100, {{"only", NAN}}}, {350, {{"only", NAN}}}}, eval_dir());
  EXPECT_TRUE(stops(stop_if_no_increase("only", 250, kEachStep)));
}

TEST_F(EarlyStop, IgnoresResultsBeforeMinSteps) {
  write_example();
  const EarlyStoppingOptions late = each_step_from(4000);
  EXPECT_FALSE(stops(stop_if_higher("accuracy", .6, late)));
  EXPECT_FALSE(stops(stop_if_lower("loss", .5, late)));
  EXPECT_FALSE(stops(stop_if_no_increase("accuracy", 500, late)));
  EXPECT_FALSE(stops(stop_if_no_decrease("loss", 500, late)));
  EXPECT_TRUE(stops(stop_if_higher("accuracy", .6, each_step_from(3500)))) << "the last result is of that step";
}

TEST_F(EarlyStop, EitherOfTwoHooksSuffices) {
  write_example();
  const auto yes = [] { return stop_if_higher("accuracy", .6, kEachStep); };
  const auto no = [] { return stop_if_lower("loss", .3, kEachStep); };
  EXPECT_EQ(steps_with({yes(), no()}), 1u);
  EXPECT_EQ(steps_with({no(), yes()}), 1u);
  EXPECT_EQ(steps_with({no(), no()}), 5u);
}

TEST_F(EarlyStop, AsksAPredicateAboutAllFilesMergedByStep) {
  write_events({{2000, {{"loss", .5}}}, {1000, {{"loss", .75}, {"old", 1}}}}, eval_dir());
  env.log().info("the second file is newer");
  world.run_for(std::chrono::seconds(1));
  write_events({{1000, {{"accuracy", .25}, {"loss", .875}}}}, eval_dir());
  EvaluationHistory seen;
  EXPECT_TRUE(stops(stop_if(
      [&seen](const EvaluationHistory& history) {
        seen = history;
        return true;
      },
      kEachStep)));
  EXPECT_EQ(seen, (EvaluationHistory{{1000, {{"accuracy", .25}, {"loss", .875}, {"old", 1}}}, {2000, {{"loss", .5}}}}));
  EXPECT_THAT(refusal([] { stop_if(nullptr); }), HasSubstr("stop_if: a function that says when to stop is required"));
}

TEST_F(EarlyStop, AMissingOrEmptyFolderIsNoResult) {
  EvaluationHistory seen{{1, {}}};
  const auto look = [&seen](const EvaluationHistory& history) {
    seen = history;
    return false;
  };
  EXPECT_FALSE(stops(stop_if(look, kEachStep)));
  EXPECT_THAT(seen, IsEmpty());
  EXPECT_FALSE(stops(stop_if_no_increase("accuracy", 1, kEachStep)));
  std::filesystem::create_directories(eval_dir());
  EXPECT_FALSE(stops(stop_if_higher("accuracy", -1, kEachStep)));
  EXPECT_EQ(place.log.count('W', ""), 0);
}

TEST_F(EarlyStop, ReadsADamagedFileUpToTheDamage) {
  const std::string path = write_events({{100, {{"accuracy", .5}}}, {200, {{"accuracy", .9}}}}, eval_dir());
  std::string contents = read_file(path);
  const size_t last = contents.rfind("accuracy");
  contents[last] = 'A';
  write_file(path, contents);
  EXPECT_TRUE(stops(stop_if_higher("accuracy", .4, kEachStep)));
  place.log.clear();
  EXPECT_FALSE(stops(stop_if_higher("accuracy", .6, kEachStep)));
  EXPECT_EQ(place.log.count('W', "what follows in this file is ignored"), 1) << "once, though it looked five times";
}

TEST_F(EarlyStop, WarnsOnceOfResultsWithoutTheMetric) {
  write_events({{100, {{"loss", .5}}}, {200, {{"loss", .5}}}}, eval_dir());
  EXPECT_FALSE(stops(stop_if_higher("acuracy", 0, kEachStep)));
  EXPECT_EQ(place.log.count('W', "has no metric acuracy"), 1);
  EXPECT_EQ(place.log.count('W', "it has: loss"), 1);
  world.run_for(std::chrono::seconds(1));
  write_events({{300, {{"acuracy", .5}}}}, eval_dir());
  EXPECT_TRUE(stops(stop_if_higher("acuracy", 0, kEachStep))) << "results that have it still count";
}

TEST_F(EarlyStop, AFolderThatCannotBeReadIsLookedAtAgain) {
  std::filesystem::create_directories(place.model_dir());
  write_file(eval_dir(), "a file where a folder should be");
  EXPECT_FALSE(stops(stop_if_higher("accuracy", 0, kEachStep)));
  EXPECT_EQ(place.log.count('W', "the results of evaluations are looked at again later"), 1);
}

TEST_F(EarlyStop, LooksIntoTheFolderOfANamedEvaluationWhereItIsTold) {
  write_events({{100, {{"accuracy", .5}}}}, place.model_dir() + "/eval_test");
  EXPECT_FALSE(stops(stop_if_higher("accuracy", 0, kEachStep)));
  EarlyStoppingOptions named = kEachStep;
  named.eval_dir = place.estimator(counting_model).eval_dir("test");
  EXPECT_TRUE(stops(stop_if_higher("accuracy", 0, named)));
}

TEST_F(EarlyStop, WhatAPredicateThrowsEndsTheRun) {
  const auto broken = stop_if([](const EvaluationHistory&) -> bool { throw std::runtime_error("no opinion"); }, kEachStep);
  EXPECT_THROW(stops(broken), std::runtime_error);
}

TEST_F(EarlyStop, InLocalModeEndsAtTheEvaluationThatSaysSo) {
  Estimator estimator = place.estimator(counting_model, {.save_checkpoints_steps = 10});
  const auto result = train_and_evaluate(
      estimator, {.input_fn = endless, .max_steps = 50, .hooks = {stop_if_higher("loss", .25, each_step_from(20))}},
      {.input_fn = [] { return losses({.5f}); }, .throttle_secs = 0});
  EXPECT_THAT(steps_of(eval_dir(), "loss"), ElementsAre(10, 20));
  EXPECT_EQ(result.metrics->at("global_step"), 20);
  const auto mark = end_mark(place.model_dir());
  EXPECT_EQ(mark->reason, checkpoint::EndReason::kStopRequested);
  EXPECT_EQ(mark->checkpoint, "model.ckpt-20");
  // Nothing of the decision remains: without the hook the job goes on.
  train_and_evaluate(estimator, {.input_fn = endless, .max_steps = 50}, {.input_fn = [] { return losses({.5f}); }});
  EXPECT_EQ(end_mark(place.model_dir())->global_step, 50);
}

/// A start that ends after one step, with status 0, logs the reason and a remedy.
TEST_F(EarlyStop, AStopThatRepeatsAtOnceSaysWhatHelps) {
  Estimator estimator = place.estimator(counting_model, {.save_checkpoints_steps = 10});
  const auto start = [&](int64_t max_steps, int64_t min_steps) {
    place.log.clear();
    train_and_evaluate(
        estimator,
        {.input_fn = endless, .max_steps = max_steps, .hooks = {stop_if_higher("loss", .25, each_step_from(min_steps))}},
        {.input_fn = [] { return losses({.5f}); }, .throttle_secs = 0});
    return end_mark(place.model_dir())->global_step;
  };
  EXPECT_EQ(start(50, 15), 20);
  EXPECT_EQ(place.log.count('W', "early stopping"), 0) << "the first start is stopped by an evaluation of its own";
  EXPECT_EQ(start(50, 15), 21);
  EXPECT_EQ(place.log.count('W', "this start began at global step 20, and the last evaluation is of step 20"), 1);
  EXPECT_EQ(place.log.count('W', "(22 or more)"), 1);
  EXPECT_EQ(start(50, 22), 31) << "what it says helps";
  EXPECT_EQ(place.log.count('W', "early stopping"), 0);
}

/// Calls a hook as a trainer with one step per second does, and returns the steps at which it looked.
std::vector<uint64_t> looks_of(EarlyStoppingOptions options, std::vector<std::pair<uint64_t, uint64_t>> runs,
                               bool is_chief = true) {
  TemporaryFolder folder;
  VirtualWorld world;
  LoopContext context(world.add_task({.task = "trainer"}));
  context.set_task(is_chief, folder / "m", nullptr);
  std::vector<uint64_t> looks;
  const auto hook = stop_if(
      [&](const EvaluationHistory&) {
        looks.push_back(context.global_step());
        return false;
      },
      std::move(options));
  for (const auto& [from, to] : runs) {
    context.set_global_step(from);
    hook->after_ready(context);
    while (context.global_step() < to) {
      world.run_for(std::chrono::seconds(1));
      context.set_global_step(context.global_step() + 1);
      hook->after_step(context, StepValues());
    }
  }
  return looks;
}

TEST(EarlyStopInterval, IsAMinuteUnlessSaidOtherwiseAndBeginsAtTheFirstStep) {
  EXPECT_THAT(looks_of({}, {{0, 130}}), ElementsAre(1, 61, 121));
  EXPECT_THAT(looks_of({.run_every_secs = 10}, {{40, 65}}), ElementsAre(41, 51, 61));
}

TEST(EarlyStopInterval, MayBeInSteps) {
  EXPECT_THAT(looks_of({.run_every_secs = std::nullopt, .run_every_steps = 7}, {{0, 20}}), ElementsAre(1, 8, 15));
  EXPECT_THAT(looks_of({.run_every_secs = std::nullopt, .run_every_steps = 7}, {{0, 20}, {4, 13}}),
              ElementsAre(1, 8, 15, 5, 12))
      << "after a recovery that took the job back";
}

/// Calls a hook at each of ten steps of a second each. Before some steps there is a save or an evaluation.
std::vector<uint64_t> looks_beside(std::vector<uint64_t> saves, std::vector<uint64_t> evaluations, bool is_chief = true) {
  TemporaryFolder folder;
  VirtualWorld world;
  LoopContext context(world.add_task({.task = "trainer"}));
  context.set_task(is_chief, folder / "m", nullptr);
  std::vector<uint64_t> looks;
  const auto hook = stop_if([&](const EvaluationHistory&) {
    looks.push_back(context.global_step());
    return false;
  });
  context.count_save();  // That of the start.
  hook->after_ready(context);
  for (uint64_t step = 1; step <= 10; ++step) {
    world.run_for(std::chrono::seconds(1));
    context.set_global_step(step);
    if (std::ranges::count(saves, step) > 0) context.count_save();
    if (std::ranges::count(evaluations, step) > 0) context.note_evaluation();
    hook->after_step(context, StepValues());
  }
  return looks;
}

TEST(EarlyStopInterval, IsCutShortByCheckpointsAndEvaluationsOfTheTask) {
  EXPECT_THAT(looks_beside({}, {}), ElementsAre(1));
  EXPECT_THAT(looks_beside({4, 8}, {}), ElementsAre(1, 4, 8));
  EXPECT_THAT(looks_beside({}, {3}), ElementsAre(1, 3));
  EXPECT_THAT(looks_beside({1, 4, 8}, {4, 9}), ElementsAre(1, 4, 8, 9)) << "one look after both";
  EXPECT_THAT(looks_beside({4}, {6}, false), IsEmpty()) << "other trainers than the chief";
}

TEST_F(EarlyStop, StopsAtAnEvaluationInMemory) {
  Estimator estimator = place.estimator(counting_model, {.save_checkpoints_steps = 0});
  const auto test = [] { return losses({0.5f}); };
  const auto stop = stop_if([](const EvaluationHistory& history) { return history.contains(8); });
  const auto evaluator = in_memory_evaluator(estimator, test, {.every_iterations = 4});
  estimator.train(endless, {.max_steps = 50, .hooks = {evaluator, stop}});
  EXPECT_THAT(steps_of(eval_dir(), "loss"), ElementsAre(0, 4, 8)) << "where training ended";
}

TEST(EarlyStopInterval, IsForTheChiefAlone) { EXPECT_THAT(looks_of(kEachStep, {{0, 20}}, false), IsEmpty()); }

TEST(EarlyStopOptions, AreChecked) {
  EXPECT_THAT(refusal([] { stop_if_higher("loss", 1, {.run_every_steps = 10}); }),
              AllOf(HasSubstr("stop_if_higher: run_every_secs and run_every_steps are both set"),
                    HasSubstr("set run_every_secs to std::nullopt")));
  EXPECT_THAT(refusal([] { stop_if_lower("loss", 1, {.run_every_secs = std::nullopt}); }),
              HasSubstr("stop_if_lower: set run_every_secs or run_every_steps"));
  EXPECT_THAT(refusal([] { stop_if_lower("loss", 1, {.run_every_secs = 0}); }), HasSubstr("must be greater than 0"));
  EXPECT_THAT(refusal([] { stop_if_lower("loss", 1, {.run_every_secs = std::nullopt, .run_every_steps = 0}); }),
              HasSubstr("must be greater than 0"));
  EXPECT_THAT(refusal([] { stop_if_lower("loss", 1, {.min_steps = -1}); }),
              HasSubstr("min_steps must be at least 0, not -1"));
  EXPECT_THAT(refusal([] { stop_if_lower("loss", 1, {.eval_dir = ""}); }), HasSubstr("eval_dir must not be empty"));
  EXPECT_THAT(refusal([] { stop_if_higher("", 1); }), HasSubstr("metric must name a metric"));
  EXPECT_THAT(refusal([] { stop_if_higher("loss", NAN); }), HasSubstr("threshold must be a number"));
  EXPECT_THAT(refusal([] { stop_if_no_increase("loss", 0); }),
              HasSubstr("max_steps_without must be greater than 0, not 0"));
  EXPECT_THAT(refusal([] { stop_if_no_decrease("", 5); }), HasSubstr("stop_if_no_decrease: metric must name a metric"));
}

}  // namespace
}  // namespace shoal::testing
