// SPDX-License-Identifier: Apache-2.0
// Errors about a row of a batch name the place in the file from which the row was read.
#include "fixture.h"
#include "shoal/columns/column.h"
#include "shoal/estimator/canned.h"
#include "shoal/nn/head.h"

namespace shoal::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Two files of 30 records each. One record, line 12 of the second file, has another label and another x than the rest.
struct Tables {
  Place place;
  std::vector<std::string> files;
  Tables(const std::string& usual, const std::string& odd, const std::string& odd_x = "1") {
    for (const std::string name : {"jan.csv", "feb.csv"}) {
      std::string text = "x,y\n";
      for (int line = 2; line < 32; ++line) {
        const bool is_odd = name == "feb.csv" && line == 12;
        text += is_odd ? odd_x + "," + odd + "\n" : std::to_string(line % 5) + "," + usual + "\n";
      }
      files.push_back(place.folder.write(name, text));
    }
  }
  Dataset csv(DType label) const {
    return Dataset::csv(files,
                        {.columns = {{"x", DType::kFloat32, "nan"}, {"y", label}}, .labels = {"y"}, .header_lines = 1});
  }
  std::string where() const { return "; that row is " + files[1] + ", line 12"; }
  Estimator classifier(DnnOptions options) {
    options.columns = {columns::numeric("x")};
    options.hidden_units = {2};
    return dnn_classifier(options, {.n_classes = n_classes, .label_vocabulary = words}, place.config());
  }
  int64_t n_classes = 3;
  std::vector<std::string> words = {};
};

std::string training_error(Estimator& estimator, const Dataset& examples) {
  return refusal([&] { estimator.train([examples] { return examples; }, {.steps = 40}); });
}

TEST(RowPlaces, OfLabelsOutOfRange) {
  for (const DType type : {DType::kInt64, DType::kInt32}) {
    Tables tables("2", "7");
    Estimator estimator = tables.classifier({});
    const Dataset csv = tables.csv(type);
    EXPECT_THAT(training_error(estimator, csv.shuffle(100).batch(8)),
                AllOf(HasSubstr("7 in row"), HasSubstr(tables.where())));
    EXPECT_THAT(training_error(estimator, csv.cache().shuffle(20).repeat().batch(8).prefetch()), HasSubstr(tables.where()));
    EXPECT_THAT(refusal([&] { (void)estimator.evaluate([csv] { return csv.batch(8); }, {.checkpoint = {}}); }),
                HasSubstr(tables.where()));
    const auto batchwise = [](data::Batch batch) -> Result<data::Batch> { return batch; };
    EXPECT_THAT(training_error(estimator, csv.batch(8).map(batchwise)),
                AllOf(HasSubstr("batch 6 of the input (its rows count from 0)"), Not(HasSubstr("that row is"))));
  }
}

TEST(RowPlaces, OfWordsThatTheVocabularyLacks) {
  Tables tables("oak", "yew");
  tables.words = {"oak", "elm"};
  tables.n_classes = 0;
  Estimator estimator = tables.classifier({});
  const Dataset csv = tables.csv(DType::kString);
  const auto named =
      AllOf(HasSubstr("\"yew\" is not among the 2 names of the vocabulary: oak, elm"), HasSubstr(tables.where()));
  EXPECT_THAT(training_error(estimator, csv.cache().shuffle(100).repeat().batch(8)), named);
  EXPECT_THAT(refusal([&] { (void)estimator.evaluate([csv] { return csv.batch(8); }, {.checkpoint = {}}); }), named);
}

TEST(RowPlaces, OfFeaturesInTrainingAndPrediction) {
  Tables tables("1", "1", "");
  Estimator estimator = tables.classifier({});
  const Dataset csv = tables.csv(DType::kInt64);
  EXPECT_THAT(training_error(estimator, csv.shuffle(100).batch(8)), HasSubstr(tables.where()));
  EXPECT_THAT(refusal([&] {
                const auto predictions = estimator.predict([csv] { return csv.batch(8); }, {.checkpoint = {}});
                while (predictions->next()) {
                }
              }),
              HasSubstr(tables.where()));
}

TEST(RowPlaces, OfLabelsThatARegressionRefuses) {
  Tables tables("3", "-7");
  const ModelFn counts = [](const Features& features, const Labels& labels, Mode mode, const Params&, const RunConfig&) {
    return nn::poisson_regression_head({})->build({.mode = mode,
                                                   .labels = labels,
                                                   .logits = nn::dense(ops::reshape(features["x"], {-1, 1}), {.units = 1}),
                                                   .optimizer = nn::sgd({.learning_rate = 0.01})});
  };
  Estimator estimator = tables.place.estimator(counts);
  EXPECT_THAT(training_error(estimator, tables.csv(DType::kInt64).shuffle(100).batch(8)), HasSubstr(tables.where()));
}

/// A tensor that the model computes from labels has its own rows.
TEST(RowPlaces, AreNotGuessedOfWhatTheModelMakes) {
  Tables tables("3", "-7");
  const ModelFn model = [](const Features& features, const Labels& labels, Mode mode, const Params&, const RunConfig&) {
    EstimatorSpec spec;
    spec.mode = mode;
    const Value halves = ops::scale(ops::cast(labels.single(), DType::kFloat32), 0.5);
    spec.loss = ops::reduce_mean(ops::check_range(halves, {.low = 0, .what = "half"}) + features["x"]);
    if (mode == Mode::kTrain) spec.train_op = nn::train_op({});
    return spec;
  };
  Estimator estimator = tables.place.estimator(model);
  EXPECT_THAT(training_error(estimator, tables.csv(DType::kInt64).shuffle(100).batch(8)),
              AllOf(HasSubstr("half -3.5 in row"), Not(HasSubstr("that row is"))));
}

}  // namespace
}  // namespace shoal::testing
