// SPDX-License-Identifier: Apache-2.0
// Text in features and labels: the same ids in training, evaluation, prediction and an export.
#include <cstring>

#include "fixture.h"
#include "shoal/estimator/exported_model.h"
#include "shoal/graph/text_ids.h"
#include "shoal/nn/flatten.h"
#include "shoal/nn/head.h"

namespace shoal::testing {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<const Vocabulary> animals() {
  return std::make_shared<const Vocabulary>(value_or_raise(Vocabulary::make({"cat", "dog", "eel"})));
}

/// A model that predicts whether an animal in a colour is liked. One feature is both looked up in a vocabulary and hashed.
EstimatorSpec liking(const Features& features, const Labels& labels, Mode mode, const Params& params, const RunConfig&) {
  const TextEncoding pets{
      .vocabulary = animals(), .refuse_unknown = params.has("strict"), .unknown_id = 3, .missing_id = 3};
  const Value pet = ops::one_hot(text_ids(features["pet"], pets), {.depth = 4});
  const Value hashed = ops::one_hot(text_ids(features["pet"], {.buckets = 5, .missing = {}}), {.depth = 5});
  const Value colours = ops::multi_hot(text_ids(features["colours"], {.buckets = 7}), 7);
  const Value logits = nn::dense(ops::concat({pet, hashed, colours}, -1), {.units = 1});
  return nn::binary_head({.label_vocabulary = {"no", "yes"}})
      ->build({.mode = mode, .labels = labels, .logits = logits, .optimizer = nn::sgd({.learning_rate = 0.5})});
}

data::TensorMap features() {
  return {{"pet", Tensor::of_strings({4}, {"cat", "dog", "", "emu"})},
          {"colours", Tensor::of_strings({4, 2}, {"red", "blue", "red", "", "", "", "blue", "blue"})}};
}
Dataset labelled() { return Dataset::from_tensor_slices(features(), Tensor::of_strings({4}, {"yes", "no", "no", "yes"})); }
Dataset unlabelled() { return Dataset::from_tensor_slices(features()); }

std::map<std::string, std::string> bits(const data::TensorMap& tensors) {
  std::map<std::string, std::string> all;
  for (const auto& [name, tensor] : tensors) {
    std::string text;
    if (tensor.dtype() == DType::kString) {
      for (const std::string& word : tensor.strings()) text += word + "|";
    } else {
      text.assign(reinterpret_cast<const char*>(tensor.view().data), tensor.bytes());
    }
    all[name] = to_string(tensor.shape()) + " " + text;
  }
  return all;
}

TEST(TextFeatures, TrainEvaluatePredictAndExportAlike) {
  Place place;
  Estimator estimator = place.estimator(liking, {});
  estimator.train([] { return labelled().repeat().batch(4); }, {.steps = 60});
  const Metrics report = estimator.evaluate([] { return labelled().batch(3); });
  EXPECT_EQ(report.at("accuracy"), 1);
  EXPECT_EQ(report.at("auc"), 1);
  const auto predicted = estimator.predict([] { return unlabelled().batch(4); }, {.yield_single_examples = false})->next();
  ASSERT_TRUE(predicted);
  EXPECT_THAT(predicted->find("classes")->strings(), ::testing::ElementsAre("yes", "no", "no", "yes"));

  const std::string folder = estimator.export_model(place.folder / "exports", [] { return unlabelled().batch(2); });
  const auto model = load_exported_model(folder, {.threads = 1, .backend = "reference"});
  ASSERT_EQ(model->inputs().size(), 2u);
  EXPECT_EQ(model->inputs()[1].name, "pet");
  EXPECT_EQ(model->inputs()[1].dtype, DType::kString);
  EXPECT_EQ(bits(model->predict(features())), bits(*predicted));
  EXPECT_THAT(refusal([&] {
                model->predict({{"pet", Tensor::of<int64_t>({1}, {1})}, {"colours", Tensor::of_strings({1, 2}, {"", ""})}});
              }),
              HasSubstr("input features/pet is int64 [1]; the model was built for string [1]"));
  model->profile({.batch = 2, .runs = 1});  // The profile uses texts that mean missing values.
}

TEST(TextFeatures, AnUnknownTextIsNamedWithItsRow) {
  Place place;
  Estimator estimator = place.estimator(liking, {}, {{"strict", true}});
  EXPECT_THAT(refusal([&] { estimator.train([] { return labelled().batch(4); }, {.steps = 1}); }),
              HasSubstr("input features/pet: row 3 of the batch: \"emu\" is not among the 3 names of the vocabulary"));
  EXPECT_THAT(refusal([&] {
                place.estimator(liking, {})
                    .train(
                        [] {
                          return Dataset::from_tensor_slices(features(), Tensor::of_strings({4}, {"yes", "no", "no", "?"}))
                              .batch(4);
                        },
                        {.steps = 1});
              }),
              HasSubstr("input labels: row 3 of the batch: \"?\" is not among the 2 names of the vocabulary"));
}

TEST(TextFeatures, TextThatNothingLooksUpIsLeftAlone) {
  Place place;
  const auto model_fn = [](const Features& features, const Labels& labels, Mode mode, const Params&, const RunConfig&) {
    return nn::regression_head()->build({.mode = mode,
                                         .labels = labels,
                                         .logits = nn::dense(features["x"], {.units = 1}),
                                         .optimizer = nn::sgd({.learning_rate = 0.1})});
  };
  const auto input = [] {
    return Dataset::from_tensor_slices(
               {{"x", Tensor::of<float>({2, 1}, {1, 2})}, {"id", Tensor::of_strings({2}, {"a", "b"})}},
               Tensor::of<float>({2}, {1, 2}))
        .batch(2);
  };
  Estimator estimator = place.estimator(model_fn, {});
  estimator.train(input, {.steps = 1});
  EXPECT_EQ(estimator.evaluate(input).at("global_step"), 1);
}

TEST(TextFeatures, TextIsNoPrediction) {
  Place place;
  const auto model_fn = [](const Features& features, const Labels&, Mode mode, const Params&, const RunConfig&) {
    EstimatorSpec spec;
    spec.mode = mode;
    spec.predictions = {{"pet", features["pet"]}};
    return spec;
  };
  EXPECT_THAT(refusal([&] { place.estimator(model_fn, {}).predict([] { return unlabelled().batch(4); })->next(); }),
              HasSubstr("prediction \"pet\" is a text of the input"));
}

}  // namespace
}  // namespace shoal::testing
