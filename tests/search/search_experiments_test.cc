// SPDX-License-Identifier: Apache-2.0
/// shoal::search() of experiments: it sees evaluations, ends trials early by ASHA, and goes on where it was cut off.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "../base/temporary_folder.h"
#include "shoal/search/search.h"
#include "shoal/shoal.h"

namespace shoal {
namespace {

using ::testing::HasSubstr;
using State = tuning::Trial::State;

/// y = 2 x for x from 0 to 1.
data::Dataset points() {
  std::vector<float> x(32), y(32);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = float(i) / 32;
    y[i] = 2 * x[i];
  }
  return data::Dataset::from_tensor_slices({{"x", Tensor::of<float>({32, 1}, x)}}, Tensor::of<float>({32, 1}, y));
}

Experiment line(const Params& params, RunConfig config) {
  return {.estimator = linear_regressor({.columns = {columns::numeric("x")},
                                         .optimizer = nn::sgd({.learning_rate = params.get_real("learning-rate")})},
                                        {}, std::move(config)),
          .train_spec = {.input_fn = points().repeat().batch(8), .max_steps = 40},
          .eval_spec = {.input_fn = points().batch(32), .steps = {}, .start_delay_secs = 0}};
}

SearchOptions asha(const std::string& folder) {
  return {.folder = folder,
          .parameters = {"learning-rate=1e-5..0.5:log"},
          .algorithm = tuning::Algorithm::kAsha,
          .trials = 20,
          .max_steps = 54,
          .min_steps = 2,
          .config = {.log_step_count_steps = std::nullopt}};
}

int64_t count(const SearchResult& result, State state) {
  return std::ranges::count(result.trials, state, &tuning::Trial::state);
}

TEST(SearchOfExperiments, TrainsEachTrialToItsEnd) {
  const TemporaryFolder folder;
  SearchOptions options = asha(folder.path());
  options.algorithm = tuning::Algorithm::kGrid;
  options.parameters = {"learning-rate=0.001..0.5:log:2"};
  options.max_steps = options.min_steps = std::nullopt;
  options.trials = std::nullopt;
  const SearchResult result = search(options, line);
  EXPECT_EQ(count(result, State::kComplete), 2);
  for (const tuning::Trial& trial : result.trials) EXPECT_EQ(trial.step, 40);
  EXPECT_EQ(result.best->number, 1);
}

TEST(SearchOfExperiments, AshaEndsTrialsEarlyAndFindsAGoodOne) {
  const TemporaryFolder folder;
  const SearchResult result = search(asha(folder.path()), line);
  ASSERT_EQ(result.trials.size(), 20u);
  EXPECT_GE(count(result, State::kStopped), 10);
  EXPECT_GE(count(result, State::kComplete), 1);
  EXPECT_EQ(count(result, State::kStopped) + count(result, State::kComplete), 20);
  for (const tuning::Trial& trial : result.trials) {
    const bool at_a_rung = trial.step == 2 || trial.step == 6 || trial.step == 18;
    EXPECT_TRUE(trial.state == State::kComplete ? trial.step == 54 : at_a_rung) << trial.step;
  }
  // The loss falls faster the higher the rate is, so the best trial has one of the highest rates.
  int64_t higher = 0;
  for (const tuning::Trial& trial : result.trials) {
    higher += std::get<double>(trial.parameters[0].second) > result.best_params.get_real("learning-rate");
  }
  EXPECT_LE(higher, 2);
}

TEST(SearchOfExperiments, GoesOnWhereAnotherCallWasCutOff) {
  const TemporaryFolder whole, cut;
  const SearchResult at_once = search(asha(whole.path()), line);
  int made = 0;
  const auto cut_off = [&made](const Params& params, RunConfig config) {
    if (++made % 7 == 0) raise(cancelled());
    return line(params, std::move(config));
  };
  SearchResult result;
  for (int call = 0; call < 5 && result.trials.empty(); ++call) {
    try {
      result = search(asha(cut.path()), cut_off);
    } catch (const Exception& exception) {
      EXPECT_EQ(exception.error().kind(), ErrorKind::kCancelled);
    }
  }
  ASSERT_EQ(result.trials.size(), 20u);
  for (size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(result.trials[i].parameters, at_once.trials[i].parameters);
    EXPECT_EQ(result.trials[i].state, at_once.trials[i].state) << i;
    EXPECT_EQ(result.trials[i].value, at_once.trials[i].value) << i;
  }
}

TEST(SearchOfExperiments, ATrialThatWasCompleteBeforeItsRecordHasItsValue) {
  const TemporaryFolder whole, cut;
  SearchOptions options = asha(whole.path());
  options.algorithm = tuning::Algorithm::kRandom;
  options.max_steps = options.min_steps = std::nullopt;
  options.trials = 2;
  const SearchResult at_once = search(options, line);
  options.folder = cut.path();
  EXPECT_THROW(search(options,
                      [](const Params& params, RunConfig config) -> Experiment {
                        Experiment experiment = line(params, std::move(config));
                        train_and_evaluate(experiment.estimator, experiment.train_spec, experiment.eval_spec);
                        raise(cancelled());
                      }),
               Exception);
  const SearchResult result = search(options, line);
  EXPECT_EQ(result.trials[0].state, State::kComplete);
  EXPECT_EQ(result.trials[0].value, at_once.trials[0].value);
  EXPECT_EQ(result.trials[0].step, 40);
  EXPECT_EQ(result.trials[1].value, at_once.trials[1].value);
}

TEST(SearchOfExperiments, ATrialWithAllItsStepsIsComplete) {
  const TemporaryFolder folder;
  SearchOptions options = asha(folder.path());
  options.config.save_checkpoints_steps = 40;  // The first evaluation is beyond all rungs but one, the second at the end.
  options.trials = 6;
  const SearchResult result = search(options, line);
  for (const tuning::Trial& trial : result.trials) {
    EXPECT_TRUE(trial.state == State::kStopped ? trial.step == 40 : trial.step == 54) << trial.step;
  }
}

TEST(SearchOfExperiments, HeedsTheListenerOfTheExperiment) {
  class OneEvaluation : public EvalListener {
   public:
    bool after_eval(const EvalOutcome&) override { return false; }
  };
  const TemporaryFolder folder;
  SearchOptions options = asha(folder.path());
  options.trials = 1;
  const SearchResult result = search(options, [](const Params& params, RunConfig config) {
    Experiment experiment = line(params, std::move(config));
    experiment.eval_spec.listener = std::make_shared<OneEvaluation>();
    return experiment;
  });
  EXPECT_EQ(result.trials[0].state, State::kComplete);
  EXPECT_EQ(result.trials[0].step, 2);
}

TEST(SearchOfExperiments, RefusesStepsOfNoUse) {
  const TemporaryFolder folder;
  const auto refusal = [&](auto change) {
    SearchOptions options = asha(folder.path());
    change(options);
    try {
      search(options, line);
    } catch (const Exception& exception) {
      EXPECT_EQ(exception.error().kind(), ErrorKind::kInvalidArgument);
      return exception.error().message();
    }
    return std::string();
  };
  EXPECT_THAT(refusal([](SearchOptions& options) { options.max_steps = std::nullopt; }), HasSubstr("set max_steps"));
  EXPECT_THAT(refusal([](SearchOptions& options) { options.min_steps = 54; }), HasSubstr("max-steps must be more"));
  EXPECT_THAT(refusal([](SearchOptions& options) { options.eta = 1; }), HasSubstr("eta must be 2 or more"));
  EXPECT_THAT(refusal([](SearchOptions& options) { options.algorithm = tuning::Algorithm::kRandom; }),
              HasSubstr("leave them out"));
}

}  // namespace
}  // namespace shoal
