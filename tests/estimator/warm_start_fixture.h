// SPDX-License-Identifier: Apache-2.0
#pragma once
// A model that reads words, an old trained one, and the initial values of a new one.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fixture.h"
#include "shoal/nn/embedding.h"
#include "shoal/nn/head.h"
#include "shoal/nn/normalization.h"

namespace shoal::testing {

/// A model with one vector of three numbers for each of "words" ids, normalized, and a layer of logits for "classes". Its
/// optimizer is Adam, so there are slots. "scope" is the name of that layer.
inline EstimatorSpec word_model(const Features& features, const Labels& labels, Mode mode, const Params& params,
                                const RunConfig&) {
  const Value words =
      nn::embedding(features.single(),
                    {.ids = params.get_int("words", 5), .dimension = 3, .initializer = nn::normal(0, 1), .name = "words"});
  const Value normal = nn::batch_norm(words, mode);
  const Value logits =
      nn::dense(normal, {.units = params.get_int("classes", 3), .name = params.get_string("scope", "out")});
  return nn::multi_class_head({.n_classes = params.get_int("classes", 3)})
      ->build({.mode = mode, .labels = labels, .logits = logits, .optimizer = nn::adam({.learning_rate = 0.1})});
}

inline Dataset sentences() {
  return Dataset::from_tensor_slices(Tensor::of<int64_t>({8}, {0, 1, 2, 3, 4, 0, 2, 4}),
                                     Tensor::of<int64_t>({8}, {0, 1, 2, 0, 1, 0, 2, 1}))
      .batch(4)
      .repeat();
}

/// The bits of each tensor of a checkpoint.
using Bits = std::map<std::string, std::string>;

/// Row `row` of the bits of a tensor whose rows are `width` floats.
inline std::string row_of_bits(const std::string& bits, size_t row, size_t width = 3) {
  return bits.substr(row * width * sizeof(float), width * sizeof(float));
}

class WarmStartTest : public ::testing::Test {
 protected:
  /// The old model: seed 7, trained for four steps, with checkpoints at 0, 2 and 4.
  void SetUp() override {
    old_ = std::make_unique<Estimator>(old_place_.estimator(word_model, {.save_checkpoints_steps = 2}));
    old_->train(sentences, {.steps = 4});
  }
  /// A new model whose own initial values differ from the old model's.
  Estimator make(Params params = {}, ModelFn model = word_model) {
    return place_.estimator(std::move(model), {.random_seed = 8}, std::move(params));
  }
  /// The initial values of a new model with these parameters, slots too: the bits of its first checkpoint.
  Bits begun(std::optional<WarmStart> start, const Params& params = {}) {
    Place place;
    Estimator estimator = place.estimator(word_model, {.random_seed = 8}, params);
    if (start) estimator.warm_start(*start);
    estimator.train(sentences, {.steps = 1});
    EXPECT_THAT(retained(place.model_dir()), ::testing::ElementsAre("model.ckpt-0", "model.ckpt-1"));
    return tensors(place.model_dir() + "/model.ckpt-0");
  }
  /// The error of training that ends before its first step, without a checkpoint.
  std::string refused(WarmStart start, const Params& params = {}, ErrorKind kind = ErrorKind::kInvalidArgument) {
    Place place;
    Estimator estimator = place.estimator(word_model, {.random_seed = 8}, params);
    estimator.warm_start(std::move(start));
    const std::string sentence = refusal([&] { estimator.train(sentences, {.steps = 1}); }, kind);
    EXPECT_TRUE(retained(place.model_dir()).empty());
    return sentence;
  }
  std::string from() const { return old_place_.model_dir(); }
  Bits old_bits(int step = 4) const { return tensors(from() + "/model.ckpt-" + std::to_string(step)); }

  Place old_place_, place_;
  std::unique_ptr<Estimator> old_;
};

inline const std::vector<std::string> kTrainable = {"batch_norm/scale", "batch_norm/shift", "out/bias", "out/kernel",
                                                    "words/table"};
inline const std::vector<std::string> kMoving = {"batch_norm/moving_mean", "batch_norm/moving_variance"};

/// `fresh`, but with these tensors of `old`.
inline Bits with(Bits fresh, const Bits& old, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    EXPECT_NE(fresh.at(name), old.at(name)) << name << " would not show whether it was warm-started";
    fresh[name] = old.at(name);
  }
  return fresh;
}

}  // namespace shoal::testing
