// SPDX-License-Identifier: Apache-2.0
#pragma once
// A small classifier of words, trained and exported, for tests that load exports.
#include "fixture.h"
#include "shoal/estimator/exported_model.h"
#include "shoal/nn/head.h"

namespace shoal::testing {

inline EstimatorSpec classifier(const Features& features, const Labels& labels, Mode mode, const Params& params,
                                const RunConfig&) {
  Value hidden = nn::dense(features["x"], {.units = 8, .activation = nn::Activation::kRelu});
  const std::vector<std::string> names = {"low", "middle", "high"};
  return nn::multi_class_head({.n_classes = 3, .label_vocabulary = params.has("text") ? names : std::vector<std::string>()})
      ->build({.mode = mode,
               .labels = labels,
               .logits = nn::dense(hidden, {.units = 3}),
               .optimizer = nn::sgd({.learning_rate = 0.1})});
}
inline data::TensorMap features(int count) {
  std::vector<float> x;
  for (int i = 0; i < 2 * count; ++i) x.push_back(float((i * 7) % 5) - 2);
  return {{"x", Tensor::of<float>({count, 2}, x)}};
}
inline Dataset numbered() { return Dataset::from_tensor_slices(features(6), Tensor::of<int64_t>({6}, {0, 1, 2, 0, 1, 2})); }
inline Dataset named() {
  return Dataset::from_tensor_slices(features(6),
                                     Tensor::of_strings({6}, {"low", "middle", "high", "low", "middle", "high"}));
}

inline std::string bits(const Tensor& tensor) {
  if (tensor.dtype() != DType::kString) return {reinterpret_cast<const char*>(tensor.view().data), tensor.bytes()};
  std::string text;
  for (const std::string& word : tensor.strings()) text += word + "|";
  return text;
}
inline std::map<std::string, std::string> bits(const data::TensorMap& tensors) {
  std::map<std::string, std::string> all;
  for (const auto& [name, tensor] : tensors) all[name] = to_string(tensor.shape()) + " " + bits(tensor);
  return all;
}

/// One thread, on the backend that every build has.
inline const RuntimeOptions kReference{.threads = 1, .backend = "reference"};

/// Trains for 7 steps, with a checkpoint of step 5, too.
struct ExportedClassifier : ::testing::Test {
  Place place;
  Estimator estimator = place.estimator(classifier, {.save_checkpoints_steps = 5}, {{"text", true}});
  const std::string base = place.folder / "exports";
  const InputFn serving = [] { return named().batch(2); };

  void SetUp() override {
    estimator.train([] { return named().repeat().batch(4); }, {.steps = 7});
  }
  std::string write(ExportOptions options = {}) { return estimator.export_model(base, serving, std::move(options)); }
};

}  // namespace shoal::testing
