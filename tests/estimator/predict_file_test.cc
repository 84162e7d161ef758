// SPDX-License-Identifier: Apache-2.0
// The flag --predict FILE: the newest checkpoint predicts for the rows of a file, which the program reads by its own
// function.
#include <nlohmann/json.hpp>

#include "run_program.h"
#include "shoal/data/text_files.h"

namespace shoal::testing {
namespace {

using ::testing::HasSubstr;

const data::CsvOptions kTable{.columns = {{"x", DType::kFloat32}}, .header_lines = 1};

/// Reads files of one column, x. The model's feature is half of x.
Dataset half_of(const std::string& path) {
  return Dataset::csv({path}, kTable)
      .map([](data::Element row) {
        const float x = row.features["x"].as<float>()[0];
        return data::Element{Tensor::scalar(x / 2), {}};
      })
      .batch(2);
}

/// Trains counting_model, which predicts twice its feature; `with` sets predict_input.
ProgramBody program(const std::function<void(TrainSpec&, EvalSpec&)>& with) {
  return [with](RunConfig config, const CommandLine& line) {
    Estimator estimator(counting_model, std::move(config));
    TrainSpec train{.input_fn = endless, .max_steps = line.steps};
    EvalSpec eval{.input_fn = [] { return losses({0.5f}); }, .throttle_secs = 0};
    with(train, eval);
    train_and_evaluate(estimator, train, eval);
    ADD_FAILURE() << "what follows is meant for what was trained";
  };
}
const auto by_train_spec = [](TrainSpec& train, EvalSpec&) { train.predict_input = half_of; };
const auto by_eval_spec = [](TrainSpec&, EvalSpec& eval) { eval.predict_input = half_of; };
const auto by_none = [](TrainSpec&, EvalSpec&) {};

/// A program that was trained for five steps.
struct PredictFileTest : ::testing::Test {
  PredictFileTest() {
    place.estimator(counting_model).train(endless, {.steps = 5});
    write_file(file, "x\n3\n0.5\n-7\n");
  }
  Outcome run(std::vector<std::string> more, const std::function<void(TrainSpec&, EvalSpec&)>& with) {
    std::vector<std::string> flags{"--model-dir", place.model_dir(), "--backend", "reference", "--predict", file};
    flags.insert(flags.end(), more.begin(), more.end());
    return run_program(flags, program(with));
  }

  Place place;
  const std::string file = place.folder / "rows.csv";
};

TEST_F(PredictFileTest, GivesThePredictionsOfTheProgramsOwnFeatures) {
  for (const auto& with : {std::function<void(TrainSpec&, EvalSpec&)>(by_train_spec), {by_eval_spec}}) {
    const Outcome outcome = run({}, with);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.out, "twice\n3.0\n0.5\n-7.0\n");
  }
  const Outcome json = run({"--json"}, by_train_spec);
  EXPECT_EQ(json.status, 0) << json.err;
  EXPECT_EQ(json.out, "{\"twice\":3.0}\n{\"twice\":0.5}\n{\"twice\":-7.0}\n");
  EXPECT_TRUE(std::filesystem::exists(place.model_dir() + "/model.ckpt-5.index"));
  EXPECT_FALSE(std::filesystem::exists(place.model_dir() + "/eval"));  // Nothing was trained or evaluated.
}

TEST_F(PredictFileTest, IsRefusedWhereTheProgramDoesNotSayHowItReadsAFile) {
  const Outcome without = run({}, by_none);
  EXPECT_EQ(without.status, 2);
  EXPECT_EQ(without.out, "");
  EXPECT_THAT(without.err,
              HasSubstr("error: --predict: this program does not say how it reads a file to predict for; in its "
                        "code, let predict_input of the TrainSpec be a function from the path"));
  const auto nothing = [](TrainSpec& train, EvalSpec&) {
    train.predict_input = [](const std::string&) { return InputFn(); };
  };
  EXPECT_THAT(run({}, nothing).err, HasSubstr("predict_input gave no input for " + file));
}

TEST_F(PredictFileTest, SaysWhatIsMissing) {
  std::filesystem::remove(file);
  const Outcome no_file = run({}, by_train_spec);
  EXPECT_EQ(no_file.status, 2);
  EXPECT_THAT(no_file.err, HasSubstr("cannot open " + file + ": No such file or directory"));
  std::filesystem::remove_all(place.model_dir());
  const Outcome untrained = run({}, by_train_spec);
  EXPECT_EQ(untrained.status, 2);
  EXPECT_THAT(untrained.err, HasSubstr("--predict: there is no checkpoint in " + place.model_dir() + "; train first"));
  EXPECT_FALSE(std::filesystem::exists(place.model_dir()));
}

TEST_F(PredictFileTest, OneProcessPredicts) {
  EXPECT_EQ(run({"--cluster", "ps:1,worker:1"}, by_train_spec).status, 2);
  setenv("TF_CONFIG", R"({"cluster": {"chief": ["a:1"], "ps": ["b:1"]}, "task": {"type": "chief", "index": 0}})", 1);
  const Outcome task = run({}, by_train_spec);
  unsetenv("TF_CONFIG");
  EXPECT_EQ(task.status, 2);
  EXPECT_THAT(task.err, HasSubstr("--predict: this process is a task of a cluster"));
}

TEST_F(PredictFileTest, AProgramWithoutTrainAndEvaluateSaysSo) {
  const std::vector<std::string> flags{"--model-dir", place.model_dir(), "--backend", "reference", "--predict", file};
  const Outcome trains = run_program(flags, [](RunConfig config, const CommandLine&) {
    Estimator(counting_model, std::move(config)).train(endless, {.steps = 1});
  });
  EXPECT_EQ(trains.status, 2);
  EXPECT_THAT(trains.err, HasSubstr("--predict: this program trains by Estimator::train"));
  const Outcome nothing = run_program(flags, [](const RunConfig&, const CommandLine&) {});
  EXPECT_EQ(nothing.status, 2);
  EXPECT_THAT(nothing.err, HasSubstr("--predict: this program has ended without train_and_evaluate"));
}

/// Predicts a lone text that may be empty, of one row per example.
EstimatorSpec words_model(const Features& features, const Labels&, Mode mode, const Params&, const RunConfig&) {
  EstimatorSpec spec;
  spec.mode = mode;
  const Value ids = ops::cast(features.single(), DType::kInt64);
  spec.predictions = {{"pair", ops::one_hot(ids, {.depth = 2})}, {"ids", ids}};
  const auto words = std::make_shared<const Vocabulary>(value_or_raise(Vocabulary::make({"a, b", "cafe"})));
  spec.text_predictions = {nn::TextPrediction("word", "ids", words)};
  spec.loss = ops::reduce_mean(features.single());
  if (mode == Mode::kTrain) spec.train_op = nn::train_op({});
  return spec;
}

TEST(PredictFileText, QuotesFieldsAndNamesColumns) {
  Place place;
  place.estimator(words_model).train(endless, {.steps = 1});
  const auto run = [&](std::vector<std::string> more) {
    std::vector<std::string> flags{"--model-dir", place.model_dir(), "--backend", "reference", "--predict", "unread"};
    flags.insert(flags.end(), more.begin(), more.end());
    return run_program(flags, [](RunConfig config, const CommandLine&) {
      Estimator estimator(words_model, std::move(config));
      TrainSpec train{.input_fn = endless, .predict_input = [](const std::string&) { return losses({0, 1}); }};
      train_and_evaluate(estimator, train, {.input_fn = endless});
    });
  };
  EXPECT_EQ(run({}).out, "ids,pair/0,pair/1,word\n0,1.0,0.0,\"a, b\"\n1,0.0,1.0,cafe\n");
  const Outcome json = run({"--json"});
  EXPECT_EQ(json.out,
            "{\"ids\":0,\"pair\":[1.0,0.0],\"word\":\"a, b\"}\n"
            "{\"ids\":1,\"pair\":[0.0,1.0],\"word\":\"cafe\"}\n");
}

}  // namespace
}  // namespace shoal::testing
