// SPDX-License-Identifier: Apache-2.0
/// shoal::search(): trials of a function, and that a call goes on where another one was cut off.
#include "shoal/search/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "../base/temporary_folder.h"

namespace shoal {
namespace {

using ::testing::HasSubstr;

Metrics parabola(const Params& params, const RunConfig&) {
  const double x = params.get_real("x");
  return {{"loss", (x - 0.25) * (x - 0.25)}, {"global_step", 7}};
}

template <class Call>
Error raised(Call call) {
  try {
    call();
  } catch (const Exception& exception) {
    return exception.error();
  }
  ADD_FAILURE() << "nothing was raised";
  return internal_error("");
}

TEST(Search, FindsTheBestOfAGrid) {
  const TemporaryFolder folder;
  const SearchResult result = search(
      {.folder = folder.path(), .parameters = {"x=0..1:5", "name=a|b"}, .algorithm = tuning::Algorithm::kGrid}, parabola);
  ASSERT_EQ(result.trials.size(), 10u);
  ASSERT_TRUE(result.best);
  EXPECT_EQ(result.best->value, 0);
  EXPECT_EQ(result.best->step, 7);
  EXPECT_EQ(result.best_params.get_real("x"), 0.25);
  EXPECT_EQ(result.best_params.get_string("name"), "a");
  EXPECT_EQ(result.best_model_dir, folder.path() + "/trials/0002");
}

TEST(Search, TellsATrialItsNumberAndItsFolder) {
  const TemporaryFolder folder;
  std::vector<std::string> seen;
  search({.folder = folder.path(), .parameters = {"x=1|2"}, .trials = 2}, [&](const Params&, const RunConfig& config) {
    seen.push_back(*config.trial() + " " + *config.model_dir());
    return Metrics{{"loss", 1}};
  });
  EXPECT_THAT(seen, ::testing::ElementsAre("0 " + folder.path() + "/trials/0000", "1 " + folder.path() + "/trials/0001"));
}

TEST(Search, GoesOnWhereAnotherCallWasCutOff) {
  const TemporaryFolder folder;
  const SearchOptions options{.folder = folder.path(), .parameters = {"x=0..1"}, .trials = 6};
  std::vector<std::string> called;
  EXPECT_EQ(raised([&] {
              search(options, [&](const Params& params, const RunConfig& config) {
                if (*config.trial() == "3") raise(cancelled());
                called.push_back(*config.trial());
                return parabola(params, config);
              });
            }).kind(),
            ErrorKind::kCancelled);
  const SearchResult result = search(options, [&](const Params& params, const RunConfig& config) {
    called.push_back(*config.trial());
    return parabola(params, config);
  });
  EXPECT_THAT(called, ::testing::ElementsAre("0", "1", "2", "3", "4", "5"));
  EXPECT_EQ(result.trials.size(), 6u);
  EXPECT_EQ(result.trials[3].attempts, 2);
}

/// Training returns normally after a stop, so a stop must not be taken for the end of the trial.
TEST(Search, AStopEndsItAndTheTrialGoesOnLater) {
  const TemporaryFolder folder;
  SearchOptions options{.folder = folder.path(), .parameters = {"x=0..1"}, .trials = 4};
  StopSource stop;
  options.config.stop = stop.token();
  std::vector<std::string> called;
  EXPECT_EQ(raised([&] {
              search(options, [&](const Params& params, const RunConfig& config) {
                called.push_back(*config.trial());
                if (called.size() == 2) stop.request_stop();
                return parabola(params, config);
              });
            }).kind(),
            ErrorKind::kCancelled);
  EXPECT_EQ(raised([&] { search(options, parabola); }).kind(), ErrorKind::kCancelled);
  options.config.stop = {};
  const SearchResult result = search(options, [&](const Params& params, const RunConfig& config) {
    called.push_back(*config.trial());
    return parabola(params, config);
  });
  EXPECT_THAT(called, ::testing::ElementsAre("0", "1", "1", "2", "3"));
  for (const tuning::Trial& trial : result.trials) EXPECT_EQ(trial.state, tuning::Trial::State::kComplete);
}

TEST(Search, KnowsTheGoalOfAMetricByItsName) {
  const auto best_of = [](const std::string& metric) {
    const TemporaryFolder folder;
    const SearchResult result =
        search({.folder = folder.path(), .parameters = {"x=1|2"}, .algorithm = tuning::Algorithm::kGrid, .metric = metric},
               [&](const Params&, const RunConfig& config) {
                 return Metrics{{metric, std::stod(*config.trial())}};
               });
    return result.best->number;
  };
  EXPECT_EQ(best_of("auc"), 1);
  EXPECT_EQ(best_of("squared_error"), 0);
  EXPECT_THAT(raised([&] { best_of("profit"); }).message(), HasSubstr("say which is the goal"));
}

TEST(Search, GoesOnBehindTrialsThatFail) {
  const TemporaryFolder folder;
  const SearchResult result =
      search({.folder = folder.path(), .parameters = {"x=1..5:int"}, .algorithm = tuning::Algorithm::kGrid},
             [](const Params& params, const RunConfig&) -> Metrics {
               switch (params.get_int("x")) {
                 case 1: raise(nan_loss("the loss is NaN"));
                 case 2: throw std::runtime_error("it broke");
                 case 3: return {{"accuracy", 1}};
                 case 4: return {{"loss", std::nan("")}};
                 default: return {{"loss", 0.5}};
               }
             });
  ASSERT_EQ(result.trials.size(), 5u);
  EXPECT_TRUE(std::isnan(*result.trials[0].value));
  EXPECT_THAT(result.trials[1].error, HasSubstr("it broke"));
  EXPECT_THAT(result.trials[2].error, HasSubstr("there is no metric loss"));
  EXPECT_EQ(result.best->number, 4);
}

TEST(Search, RefusesWhatCannotBeSearched) {
  const TemporaryFolder folder;
  const auto refusal = [&](SearchOptions options) {
    const Error error = raised([&] { search(options, parabola); });
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument);
    return error.message();
  };
  EXPECT_THAT(refusal({.parameters = {"x=1"}}), HasSubstr("folder is empty"));
  EXPECT_THAT(refusal({.folder = folder.path()}), HasSubstr("no parameter"));
  EXPECT_THAT(refusal({.folder = folder.path(), .parameters = {"x=1.."}}), HasSubstr("x: "));
  EXPECT_THAT(refusal({.folder = folder.path(), .parameters = {"x=1"}, .algorithm = tuning::Algorithm::kAsha}),
              HasSubstr("that returns an Experiment"));
  EXPECT_THAT(refusal({.folder = folder.path(), .parameters = {"x=1"}, .max_steps = 9}), HasSubstr("leave them out"));
  EXPECT_THAT(refusal({.folder = folder.path(), .parameters = {"x=0..1"}, .algorithm = tuning::Algorithm::kGrid}),
              HasSubstr("a grid needs to know"));
}

TEST(Search, RefusesTheFolderOfAnotherSearch) {
  const TemporaryFolder folder;
  search({.folder = folder.path(), .parameters = {"x=0..1"}, .trials = 1}, parabola);
  const Error error = raised([&] { search({.folder = folder.path(), .parameters = {"x=0..2"}, .trials = 1}, parabola); });
  EXPECT_EQ(error.kind(), ErrorKind::kFailedPrecondition);
  EXPECT_THAT(error.message(), HasSubstr("its space is x=0..1, and now is to be x=0..2"));
}

TEST(Search, EndsOnceItsFolderIsRemoved) {
  const TemporaryFolder parent;
  const std::string folder = parent.path() + "/s";
  const auto storage = make_file_storage();
  int called = 0;
  const Error error = raised([&] {
    search({.folder = folder, .parameters = {"x=0..1"}, .trials = 3}, [&](const Params& params, const RunConfig& config) {
      ++called;
      EXPECT_TRUE(storage->remove_all(folder));
      return parabola(params, config);
    });
  });
  EXPECT_EQ(error.kind(), ErrorKind::kFailedPrecondition);
  EXPECT_THAT(error.message(), HasSubstr("is not the folder of this search any more"));
  EXPECT_EQ(called, 1);
  EXPECT_FALSE(storage->exists(folder));
}

TEST(Search, IsRefusedWhileAnotherOneRuns) {
  const TemporaryFolder folder;
  const SearchOptions options{.folder = folder.path(), .parameters = {"x=0..1"}, .trials = 1};
  search(options, [&](const Params& params, const RunConfig& config) {
    EXPECT_EQ(raised([&] { search(options, parabola); }).kind(), ErrorKind::kUnavailable);
    return parabola(params, config);
  });
}

}  // namespace
}  // namespace shoal
