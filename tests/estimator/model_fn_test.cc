// SPDX-License-Identifier: Apache-2.0
// The forms that a model_fn may have.
#include "shoal/estimator/model_fn.h"

#include <algorithm>

#include "fixture.h"
#include "shoal/estimator/exported_model.h"
#include "shoal/nn/head.h"
#include "shoal/nn/shared.h"

namespace shoal::testing {
namespace {

using ::testing::HasSubstr;

EstimatorSpec of_features(const Features& features) {
  EstimatorSpec spec;
  spec.loss = ops::reduce_mean(features.single());
  spec.train_op = nn::train_op({});
  spec.predictions = {{"twice", features.single() * 2.0}};
  return spec;
}

double loss_of(ModelFn model, Params params = {}) {
  Place place;
  Estimator estimator = place.estimator(std::move(model), {}, std::move(params));
  return estimator.evaluate(losses({3})).at("loss");
}

EstimatorSpec plain(Mode mode, const Features& features) {
  EstimatorSpec spec = of_features(features);
  spec.mode = mode;
  return spec;
}

TEST(ModelFn, TakesAnyOfItsArgumentsInAnyOrder) {
  EXPECT_EQ(loss_of(plain), 3);
  EXPECT_EQ(loss_of([](const Features& features, Mode mode) { return plain(mode, features); }), 3);
  EXPECT_EQ(loss_of([](Features features, const Mode& mode) { return plain(mode, features); }), 3);
  EXPECT_EQ(loss_of(
                [](const Params& params, Mode mode, const Features& features) {
                  EstimatorSpec spec = plain(mode, features);
                  spec.loss = spec.loss * params.get_real("by");
                  return spec;
                },
                {{"by", 2.0}}),
            6);
  EXPECT_EQ(loss_of([](const RunConfig& config, const Labels& labels, const Features& features, const Params&, Mode mode) {
              EXPECT_TRUE(labels.empty());
              EXPECT_EQ(config.random_seed(), 7u);
              return plain(mode, features);
            }),
            3);
  EXPECT_EQ(
      loss_of([](const auto& features, const auto&, auto mode, const auto&, const auto&) { return plain(mode, features); }),
      3);
  int calls = 0;
  EXPECT_EQ(loss_of([calls](Mode mode, const Features& features) mutable {
              ++calls;
              return plain(mode, features);
            }),
            3);
}

TEST(ModelFn, OfNothingIsRefused) {
  EstimatorSpec (*none)(Mode) = nullptr;
  for (ModelFn empty :
       {ModelFn(), ModelFn(nullptr), ModelFn(none), ModelFn(std::function<EstimatorSpec(const Features&)>())}) {
    EXPECT_FALSE(empty);
    EXPECT_THAT(refusal([&] { Place().estimator(empty); }), HasSubstr("a model_fn is required"));
  }
}

TEST(ModelFn, WithoutLabelsTakesNone) {
  Place place;
  Estimator estimator = place.estimator(plain);
  EXPECT_FALSE(estimator.model_fn().takes_labels());
  EXPECT_TRUE(ModelFn(linear_model).takes_labels());
  const std::string refused = refusal([&] { estimator.train(line({1, 2}).batch(2), {.steps = 1}); });
  EXPECT_THAT(refused, HasSubstr("model_fn takes no labels, and the input function gives labels"));
  EXPECT_THAT(refusal([&] { estimator.evaluate(line({1, 2}).batch(2)); }), HasSubstr("model_fn takes no labels"));
  EXPECT_EQ(estimator.predict(line({1, 2}).batch(2))->next()->find("twice")->as<float>()[0], 2);  // Labels are dropped.
}

TEST(InputFn, MayBeADataset) {
  Place place;
  Estimator estimator = place.estimator(counting_model);
  estimator.train(losses({1, 2, 3}), {});
  EXPECT_EQ(estimator.evaluate(losses({1, 3})).at("loss"), 2);
  EXPECT_EQ(estimator.evaluate(losses({1, 3})).at("global_step"), 3);
}

/// A model of two points that share one tower: are they on the same side? Tests look at its checkpoints and exports.
struct Siamese {
  static EstimatorSpec model(const Features& features, const Labels& labels, Mode mode) {
    nn::Shared tower("tower", [](Value x) { return nn::dense(x, {.units = 3, .activation = nn::Activation::kTanh}); });
    const Value left = tower(features["left"]), right = tower(features["right"]);
    const Value apart = ops::sub(left, right);
    nn::HeadInput input{.mode = mode, .labels = labels, .logits = nn::dense(ops::square(apart), {.units = 1})};
    if (mode == Mode::kTrain) input.optimizer = nn::adam({.learning_rate = 0.05});
    return nn::binary_head()->build(input);
  }
  static data::TensorMap features() {
    std::vector<float> left, right;
    for (int i = 0; i < 64; ++i) {
      left.insert(left.end(), {float(i % 8 - 4) + 0.5f, float(i % 3)});
      right.insert(right.end(), {float(i / 8 - 4) + 0.5f, float(i % 5)});
    }
    return {{"left", Tensor::of<float>({64, 2}, left)}, {"right", Tensor::of<float>({64, 2}, right)}};
  }
  static Dataset data() {
    std::vector<int64_t> same;
    for (int i = 0; i < 64; ++i) same.push_back((i % 8 < 4) == (i / 8 < 4));
    return Dataset::from_tensor_slices(features(), Tensor::of<int64_t>({64}, same));
  }
};

TEST(ModelFn, MayShareLayers) {
  Place place;
  Estimator estimator = place.estimator(Siamese::model);
  estimator.train(Siamese::data().shuffle(64).repeat().batch(16), {.steps = 300});
  EXPECT_GE(estimator.evaluate(Siamese::data().batch(64)).at("accuracy"), 0.95);
  std::vector<std::string> towers;
  for (const std::string& name : estimator.variable_names()) {
    if (name.starts_with("tower") && name.find("adam") == std::string::npos && name.ends_with("kernel"))
      towers.push_back(name);
  }
  EXPECT_THAT(towers, ::testing::ElementsAre("tower/dense/kernel"));
  EXPECT_EQ(estimator.variable_value("tower/dense/kernel").shape(), (Shape{3, 2}));

  const InputFn serving = Siamese::data().batch(4);
  const auto exported = load_exported_model(estimator.export_model(place.folder / "exports", serving),
                                            {.threads = 1, .backend = "reference"});
  const Tensor loaded = *exported->predict(Siamese::features()).find("logits");
  const Tensor predicted =
      *estimator.predict(Siamese::data().batch(64), {.yield_single_examples = false})->next()->find("logits");
  EXPECT_TRUE(std::ranges::equal(loaded.as<float>(), predicted.as<float>()));
}

}  // namespace
}  // namespace shoal::testing
