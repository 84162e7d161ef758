// SPDX-License-Identifier: Apache-2.0
// Notes of a run that evaluated less than its user may expect, and the field that each tells to change (CONTRACT ES-3).
#include "fixture.h"

namespace shoal::testing {
namespace {

struct EvaluationNotes : ::testing::Test {
  Place place;

  Estimator estimator(Setting<int64_t> save_steps = 10) {
    RunConfigOptions options;
    options.save_checkpoints_steps = save_steps;
    return place.estimator(counting_model, options);
  }
  /// Trains to the global step 22, by default with evaluations at 10, 20 and 22.
  void run(Dataset eval_data, EvalSpec eval) {
    place.log.clear();
    std::filesystem::remove_all(place.model_dir());
    Estimator trained = estimator();
    eval.input_fn = eval_data;
    eval.throttle_secs = 0;
    train_and_evaluate(trained, {.input_fn = endless, .max_steps = 22}, eval);
    EXPECT_EQ(steps_of(trained.eval_dir(eval.name), "loss"), (std::vector<int64_t>{10, 20, 22}));
  }
  int on_steps() const { return place.log.count('I', "EvalSpec::steps"); }
  int on_last_step() const { return place.log.count('I', "only the last step"); }
};

Dataset batches(int64_t count) { return losses(std::vector<float>(size_t(count), 1)); }

TEST_F(EvaluationNotes, SayOnceThatStepsLeftSomeOfTheInput) {
  run(batches(200), {});
  EXPECT_EQ(place.log.count('I',
                            "evaluation: 100 of the input's 200 batches were evaluated; EvalSpec::steps ends it there, and "
                            "{} evaluates all"),
            1);
  EXPECT_EQ(on_steps(), 1);
  run(batches(3), {.steps = 2, .name = "test"});
  EXPECT_EQ(place.log.count('I', "evaluation test: 2 of the input's 3 batches were evaluated"), 1);
  EXPECT_EQ(on_steps(), 1);
}

TEST_F(EvaluationNotes, SayNothingWhereAllWasEvaluatedOrNobodyCould) {
  for (const auto& [data, steps] : std::vector<std::pair<Dataset, std::optional<int64_t>>>{
           {batches(100), 100}, {batches(99), 100}, {batches(150), {}}, {batches(3).repeat(), 100}}) {
    run(data, {.steps = steps});
    EXPECT_EQ(on_steps(), 0);
  }
}

TEST_F(EvaluationNotes, DoNotReadOnToFindOutHowMuchThereIs) {
  int given = 0;  // The number of elements that an evaluation asked for.
  const Dataset data = Dataset::from_generator([&given] {
    given = 0;
    return [&given](data::Element& element) -> Result<bool> {
      if (++given > 2) throw std::runtime_error("read too far");
      element.features.set("", Tensor::of<float>({1}, {1}));
      return true;
    };
  });
  run(data, {.steps = 2});
  EXPECT_EQ(given, 2);
  EXPECT_EQ(place.log.count('I', "evaluation: ended after 2 batches, before the input said that it ends; EvalSpec::steps"),
            1);
  EXPECT_EQ(on_steps(), 1);
}

TEST_F(EvaluationNotes, LeaveACallAloneThatSaysItsSteps) {
  (void)estimator().evaluate([] { return batches(9); }, {.steps = 2});
  EXPECT_EQ(on_steps(), 0);
}

TEST_F(EvaluationNotes, SayWhyOnlyTheLastStepWasEvaluated) {
  Estimator by_steps = estimator(1000);
  train_and_evaluate(by_steps, {.input_fn = endless, .max_steps = 22}, {.input_fn = endless});
  EXPECT_EQ(place.log.count('I',
                            "of this training only the last step was evaluated, since no other checkpoint of it was "
                            "there: RunConfig::save_checkpoints_steps is 1000"),
            1);
  EXPECT_EQ(on_last_step(), 1);
  Estimator by_time = estimator(Setting<int64_t>());  // The job goes on for three more steps.
  train_and_evaluate(by_time, {.input_fn = endless, .max_steps = 25}, {.input_fn = endless});
  EXPECT_EQ(place.log.count('I', "RunConfig::save_checkpoints_secs is 600; a smaller one shows more"), 1);
  EXPECT_EQ(on_last_step(), 2);
}

TEST_F(EvaluationNotes, SayNothingOfARunThatWasEvaluatedOnItsWay) {
  run(batches(1), {});
  EXPECT_EQ(on_last_step(), 0);
}

TEST_F(EvaluationNotes, SayNothingOfARunWithoutSteps) {
  Estimator trained = estimator();
  train_and_evaluate(trained, {.input_fn = [] { return batches(0); }}, {.input_fn = endless});
  EXPECT_EQ(steps_of(trained.eval_dir(), "loss"), (std::vector<int64_t>{0}));
  EXPECT_EQ(on_last_step(), 0);
}

TEST_F(EvaluationNotes, TheThrottleNamesItsField) {
  Estimator trained = estimator();
  train_and_evaluate(trained, {.input_fn = endless, .max_steps = 22}, {.input_fn = endless});
  EXPECT_EQ(
      place.log.count('I', "skipped by the throttle: the last one started less than 600 s ago (EvalSpec::throttle_secs)"),
      1);
}

}  // namespace
}  // namespace shoal::testing
