// SPDX-License-Identifier: Apache-2.0
// The flag --measure-input SECONDS: measures the speed of the training input without training.
#include <atomic>
#include <nlohmann/json.hpp>

#include "run_program.h"

namespace shoal::testing {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

struct MeasureInputTest : ::testing::Test {
  Outcome run(std::vector<std::string> more, const InputFn& input) {
    std::vector<std::string> flags{"--model-dir", place.folder / "measured", "--backend", "reference"};
    flags.insert(flags.end(), more.begin(), more.end());
    return run_program(flags, [&](RunConfig config, const CommandLine& line) {
      Estimator estimator(counting_model, std::move(config));
      train_and_evaluate(estimator, {.input_fn = input, .max_steps = line.steps},
                         {.input_fn = [] { return losses({0.5f}); }, .throttle_secs = 0});
      ADD_FAILURE() << "what follows is meant for what was trained";
    });
  }

  Place place;
};

Dataset numbers(int64_t count) {
  return Dataset::range(count).map([](data::Element one) { return one; });
}

TEST_F(MeasureInputTest, CountsWhatComesAndTrainsNothing) {
  const Outcome outcome = run({"--measure-input", "60", "--json"}, [] { return numbers(1000).batch(10); });
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json["ended"], true);  // The input ended before the minute was over.
  EXPECT_EQ(json["batches"], 99);  // The first batch is not counted.
  EXPECT_EQ(json["elements"], 990);
  EXPECT_EQ(json["bytes"], 990 * 8);
  EXPECT_GT(json["elements_per_second"].get<double>(), 0);
  EXPECT_GE(json["first_batch_seconds"].get<double>(), 0);
  ASSERT_EQ(json["stages"].size(), 3u);
  EXPECT_EQ(json["stages"][1]["name"], "map");
  EXPECT_FALSE(std::filesystem::exists(place.folder / "measured"));
}

TEST_F(MeasureInputTest, WithoutAModelDirMakesNoFolder) {
  const Outcome outcome = run_program({"--measure-input", "60"}, [&](RunConfig config, const CommandLine& line) {
    Estimator estimator(counting_model, std::move(config));
    EXPECT_EQ(estimator.model_dir(), "");
    train_and_evaluate(estimator, {.input_fn = [] { return numbers(100).batch(10); }, .max_steps = line.steps},
                       {.input_fn = [] { return losses({0.5f}); }});
  });
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
}

TEST_F(MeasureInputTest, EndsWhenTheTimeIsOverAndNamesTheSlowestStage) {
  const auto slow = [](data::Element one) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
    while (std::chrono::steady_clock::now() < until) {
    }
    return one;
  };
  const Outcome outcome = run({"--measure-input", "0.3"}, [&] { return Dataset::range(10).repeat().map(slow).batch(10); });
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("slowest stage: map, "));
  EXPECT_THAT(outcome.out, HasSubstr("elements/s"));
  EXPECT_THAT(outcome.out, HasSubstr("\nrange "));
}

TEST_F(MeasureInputTest, TellsWhatTheInputFailsBy) {
  const Outcome empty = run({"--measure-input", "1"}, [] { return numbers(0).batch(10); });
  EXPECT_EQ(empty.status, 2);
  EXPECT_THAT(empty.err, HasSubstr("--measure-input: the input that is trained on has no batch"));
  const Outcome missing = run({"--measure-input", "1"}, [] { return Dataset::text_lines({"/none/such"}).batch(10); });
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.err, HasSubstr("/none/such"));
}

TEST_F(MeasureInputTest, IsForOneProcessAndAPositiveTime) {
  const auto input = [] { return numbers(10).batch(10); };
  EXPECT_EQ(run({"--measure-input", "0"}, input).status, 2);
  EXPECT_THAT(run({"--measure-input", "1", "--cluster", "ps:1"}, input).err,
              HasSubstr("--measure-input excludes --cluster"));
  EXPECT_EQ(run({"--measure-input", "1", "--predict", "x"}, input).status, 2);
}

TEST_F(MeasureInputTest, AProgramThatTrainsByTheEstimatorMeasuresToo) {
  const Outcome outcome = run_program(
      {"--backend", "reference", "--measure-input", "0.1", "--json"}, [&](RunConfig config, const CommandLine&) {
        Estimator(counting_model, std::move(config)).train([] { return numbers(100).batch(10); }, {.steps = 5});
        ADD_FAILURE() << "what follows is meant for what was trained";
      });
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(Json::parse(outcome.out)["batches"], 9);
  const Outcome without = run_program({"--measure-input", "0.1"});
  EXPECT_EQ(without.status, 2);
  EXPECT_THAT(without.err, HasSubstr("this program has ended without a training"));
}

}  // namespace
}  // namespace shoal::testing
