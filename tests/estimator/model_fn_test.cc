// What a model_fn may look like.
#include "shoal/estimator/model_fn.h"

#include "fixture.h"

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

}  // namespace
}  // namespace shoal::testing
