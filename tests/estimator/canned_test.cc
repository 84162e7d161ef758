// SPDX-License-Identifier: Apache-2.0
// Canned estimators: their initial values, one step by hand, what they learn, what they refuse.
#include "shoal/estimator/canned.h"

#include <cmath>

#include "coloured.h"
#include "fixture.h"
#include "shoal/columns/column.h"
#include "shoal/estimator/add_metrics.h"
#include "shoal/estimator/exported_model.h"

namespace shoal::testing {
namespace {

using namespace columns;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// One example: x = 3 with the label 2.
Dataset three() {
  return Dataset::from_tensor_slices({{"x", Tensor::of<float>({1}, {3})}}, Tensor::of<float>({1}, {2})).batch(1);
}
nn::Optimizer sgd(double rate) { return nn::sgd({.learning_rate = rate}); }
DnnOptions one_unit(double rate) {
  return {.columns = {numeric("x")}, .hidden_units = {1}, .activation = nn::Activation::kNone, .optimizer = sgd(rate)};
}
float only(const Estimator& estimator, const std::string& name) { return estimator.variable_value(name).as<float>()[0]; }

Column colour() { return categorical_by_vocabulary("colour", {"red", "blue"}); }
const ClassifierOptions kYesOrNo{.label_vocabulary = {"no", "yes"}};

TEST(LinearEstimator, TakesOneStepAsComputedByHand) {
  Place place;
  Estimator estimator = linear_regressor({.columns = {numeric("x")}, .optimizer = sgd(0.1)}, {}, place.config());
  estimator.train(three(), {.steps = 1});
  // The loss is (y - 2)^2, so the gradient for y = 0 is -4.
  EXPECT_FLOAT_EQ(only(estimator, "linear/x/weights"), 1.2f);
  EXPECT_FLOAT_EQ(only(estimator, "linear/bias"), 0.4f);
}

TEST(DnnEstimator, TakesOneStepAsComputedByHand) {
  Place before, after;
  Estimator start = dnn_regressor(one_unit(0), {}, before.config());
  Estimator estimator = dnn_regressor(one_unit(0.1), {}, after.config());
  start.train(three(), {.steps = 1});
  estimator.train(three(), {.steps = 1});
  const float w1 = only(start, "dnn/hidden_0/kernel"), w2 = only(start, "dnn/logits/kernel");
  EXPECT_EQ(only(start, "dnn/hidden_0/bias"), 0);
  EXPECT_LE(std::abs(w1), std::sqrt(3.0f));  // Glorot uniform.
  const float dy = 2 * (w2 * w1 * 3 - 2);
  EXPECT_FLOAT_EQ(only(estimator, "dnn/logits/kernel"), w2 - 0.1f * dy * w1 * 3);
  EXPECT_FLOAT_EQ(only(estimator, "dnn/logits/bias"), -0.1f * dy);
  EXPECT_FLOAT_EQ(only(estimator, "dnn/hidden_0/kernel"), w1 - 0.1f * dy * w2 * 3);
  EXPECT_FLOAT_EQ(only(estimator, "dnn/hidden_0/bias"), -0.1f * dy * w2);
}

TEST(WideAndDeepEstimator, TakesOneStepOfBothPartsAsComputedByHand) {
  Place before, after;
  Estimator start = dnn_regressor(one_unit(0), {}, before.config());
  start.train(three(), {.steps = 1});
  const LinearOptions linear{.columns = {numeric("x")}, .optimizer = sgd(0.01)};
  Estimator estimator = wide_and_deep_regressor({.linear = linear, .dnn = one_unit(0.1)}, {}, after.config());
  estimator.train(three(), {.steps = 1});
  const float w1 = only(start, "dnn/hidden_0/kernel"), w2 = only(start, "dnn/logits/kernel");
  const float dy = 2 * (w2 * w1 * 3 - 2);  // The linear part starts at 0.
  EXPECT_FLOAT_EQ(only(estimator, "dnn/logits/kernel"), w2 - 0.1f * dy * w1 * 3);
  EXPECT_FLOAT_EQ(only(estimator, "linear/x/weights"), -0.01f * dy * 3);
  EXPECT_FLOAT_EQ(only(estimator, "linear/bias"), -0.01f * dy);
  EXPECT_EQ(estimator.evaluate(three()).at("global_step"), 1);
}

TEST(BaselineEstimator, TakesOneStepAsComputedByHand) {
  Place place;
  Estimator estimator = baseline_regressor({.optimizer = sgd(0.1)}, {}, place.config());
  estimator.train(three(), {.steps = 1});
  EXPECT_FLOAT_EQ(only(estimator, "baseline/bias"), 0.4f);
}

TEST(BaselineEstimator, LearnsHowFrequentClassesAre) {
  const Tensor labels = Tensor::of<int64_t>({10}, {0, 1, 1, 2, 2, 2, 2, 2, 2, 2});
  const Dataset text =
      Dataset::from_tensor_slices({{"t", Tensor::of_strings({10}, std::vector<std::string>(10, "a"))}}, labels).batch(10);
  Place place, other;
  Estimator classes = baseline_classifier({}, {.n_classes = 3}, place.config());
  classes.train(text.repeat(), {.steps = 500});
  const auto predicted = classes.predict(text)->next();
  const auto probabilities = predicted->find("probabilities")->as<float>();
  EXPECT_NEAR(probabilities[0], 0.1, 0.01);
  EXPECT_NEAR(probabilities[1], 0.2, 0.01);
  EXPECT_NEAR(probabilities[2], 0.7, 0.01);
  Estimator numbers = baseline_regressor({}, {}, other.config());
  numbers.train(text.repeat(), {.steps = 500});
  EXPECT_NEAR(numbers.predict(text)->next()->find("predictions")->as<float>()[0], 1.6, 0.01);
}

TEST(CannedEstimators, LearnWhatCanBeSeparated) {
  const std::vector<Column> wide{numeric("x"), colour()}, deep{numeric("x"), embedding(colour(), {.dimension = 4})};
  Place places[3];
  const DnnOptions dnn{.columns = deep, .hidden_units = {16, 8}};
  std::vector<Estimator> estimators{
      linear_classifier({.columns = wide, .optimizer = nn::adam({.learning_rate = 0.05})}, kYesOrNo, places[0].config()),
      dnn_classifier(dnn, kYesOrNo, places[1].config()),
      wide_and_deep_classifier(
          {.linear = {.columns = wide}, .dnn = {.columns = deep, .hidden_units = {16, 8}, .optimizer = sgd(0.1)}}, kYesOrNo,
          places[2].config())};
  for (Estimator& estimator : estimators) {
    estimator.train(coloured_examples().shuffle(60, {.seed = 1}).repeat().batch(20), {.steps = 1500});
    const Metrics report = estimator.evaluate(coloured_examples().batch(7));
    EXPECT_EQ(report.at("accuracy"), 1);
    EXPECT_EQ(report.at("auc"), 1);
  }
}

TEST(CannedEstimators, ColumnsInAnotherOrderGiveTheSameBits) {
  const std::vector<Column> columns{numeric("x"), indicator(colour()), embedding(colour(), {.dimension = 4})};
  std::vector<Tensor> kernels;
  for (const std::vector<Column>& order : {columns, {columns[2], columns[0], columns[1]}}) {
    Place place;
    Estimator estimator = dnn_classifier({.columns = order, .hidden_units = {4}}, kYesOrNo, place.config());
    estimator.train(coloured_examples().repeat().batch(20), {.steps = 5});
    kernels.push_back(estimator.variable_value("dnn/hidden_0/kernel"));
  }
  EXPECT_TRUE(std::ranges::equal(kernels[0].as<float>(), kernels[1].as<float>()));
}

TEST(CannedEstimators, GoOnAfterARestartWithTheSameBits) {
  const WideAndDeepOptions options{.linear = {.columns = {numeric("x"), colour()}},
                                   .dnn = {.columns = {embedding(colour(), {.dimension = 4})}, .hidden_units = {4}}};
  Place whole, halves;
  const Dataset input = coloured_examples().shuffle(60, {.seed = 1}).repeat().batch(20);
  Estimator in_one = wide_and_deep_classifier(options, kYesOrNo, whole.config());
  in_one.train(input, {.max_steps = 20});
  for (int64_t steps : {9, 20})
    wide_and_deep_classifier(options, kYesOrNo, halves.config()).train(input, {.max_steps = steps});
  const Estimator in_two = wide_and_deep_classifier(options, kYesOrNo, halves.config());
  const auto names = in_one.variable_names();
  EXPECT_GT(names.size(), 10u);  // Slots are among them.
  for (const std::string& name : names) {
    const Tensor a = in_one.variable_value(name), b = in_two.variable_value(name);
    EXPECT_TRUE(std::ranges::equal(a.as<float>(), b.as<float>())) << name;
  }
}

TEST(CannedEstimators, AnExportFedWithTextPredictsTheSameBits) {
  Place place;
  Estimator estimator =
      dnn_classifier({.columns = {numeric("x"), indicator(colour())}, .hidden_units = {4}}, kYesOrNo, place.config());
  estimator.train(coloured_examples().repeat().batch(20), {.steps = 50});
  const Dataset features = coloured_examples().map([](data::Element element) {
    return data::Element{element.features, {}};
  });
  const std::string folder = estimator.export_model(place.folder / "export", features.batch(1));
  const auto model = load_exported_model(folder, {.threads = 1, .backend = "reference"});
  const auto batch = Dataset(features.batch(60));
  const auto predicted = estimator.predict(batch, {.yield_single_examples = false})->next();
  const auto served =
      model->predict({{"x", Tensor::of<float>({2}, {-2, -1})}, {"colour", Tensor::of_strings({2}, {"red", "blue"})}});
  const auto expected = predicted->find("probabilities")->as<float>();
  EXPECT_TRUE(std::ranges::equal(served.find("probabilities")->as<float>(), expected.subspan(0, 4)));
}

/// The train op and summaries of a model for one batch of coloured_examples().
struct Built {
  explicit Built(const Estimator& estimator) {
    const Dim batch = Dim::symbol("batch");
    Features features{{"x", graph.input("features/x", DType::kFloat32, {batch})},
                      {"colour", graph.input("features/colour", DType::kString, {batch})}};
    for (int i = 0; i < 36; ++i) {
      const std::string name = "c" + std::to_string(i);
      features.set(name, graph.input("features/" + name, DType::kFloat32, {batch}));
    }
    spec =
        estimator.model_fn()(features, graph.input("labels", DType::kInt64, {batch}), Mode::kTrain, {}, estimator.config());
  }
  /// "ftrl 0.1" for each variable.
  std::map<std::string, std::string> updates() const {
    std::map<std::string, std::string> all;
    for (const nn::VariableUpdate& update : spec.train_op->updates) {
      char rate[32];
      std::snprintf(rate, sizeof rate, "%.4f", spec.train_op->scalars[size_t(update.rule.learning_rate_scalar)].at(0));
      all[update.variable] = std::string(to_string(update.rule.kind)) + " " + rate;
    }
    return all;
  }
  Graph graph{1};
  EstimatorSpec spec;
};

TEST(CannedEstimators, HaveTheDefaultOptimizersOfTheLineage) {
  Place place;
  const LinearOptions one{.columns = {numeric("x")}};
  const DnnOptions dnn{.columns = {numeric("x")}, .hidden_units = {2}};
  EXPECT_EQ(Built(linear_classifier(one, {}, place.config())).updates().at("linear/bias"), "ftrl 0.2000");
  std::vector<Column> many;
  for (int i = 0; i < 36; ++i) many.push_back(numeric("c" + std::to_string(i)));
  const std::string of_many = Built(linear_classifier({.columns = many}, {}, place.config())).updates().at("linear/bias");
  EXPECT_EQ(of_many, "ftrl 0.1667");  // 1 / sqrt(36)
  EXPECT_EQ(Built(dnn_classifier(dnn, {}, place.config())).updates().at("dnn/logits/bias"), "adagrad 0.0500");
  const auto both = Built(wide_and_deep_classifier({.linear = one, .dnn = dnn}, {}, place.config())).updates();
  EXPECT_EQ(both.at("linear/bias"), "ftrl 0.0050");
  EXPECT_EQ(both.at("linear/x/weights"), "ftrl 0.0050");
  EXPECT_EQ(both.at("dnn/logits/bias"), "adagrad 0.0010");
  EXPECT_EQ(Built(baseline_classifier({}, {}, place.config())).updates().at("baseline/bias"), "ftrl 0.3000");
}

TEST(CannedEstimators, TakeOptimizersByNameAsObjectsAndAsFunctions) {
  Place place;
  const auto rule = [&](OptimizerChoice choice) {
    return Built(linear_classifier({.columns = {numeric("x")}, .optimizer = std::move(choice)}, {}, place.config()))
        .updates()
        .at("linear/bias");
  };
  EXPECT_EQ(rule("Adam"), "adam 0.0010");
  EXPECT_EQ(rule(std::string("RMSProp")), "rmsprop 0.0010");
  EXPECT_EQ(rule(nn::adagrad({.learning_rate = 0.5})), "adagrad 0.5000");
  EXPECT_EQ(rule([] { return nn::ftrl({.learning_rate = 0.25}); }), "ftrl 0.2500");
  EXPECT_THAT(refusal([] { OptimizerChoice("adam"); }), HasSubstr("Adagrad"));
}

TEST(CannedEstimators, RecordSummaries) {
  Place place;
  Estimator estimator =
      wide_and_deep_classifier({.linear = {.columns = {colour()}}, .dnn = {.columns = {numeric("x")}, .hidden_units = {3}}},
                               kYesOrNo, place.config());
  estimator.train(coloured_examples().repeat().batch(20), {.steps = 1});
  EXPECT_EQ(scalars(place.model_dir(), "bias").size(), 1u);
  EXPECT_EQ(scalars(place.model_dir(), "fraction_of_zero_weights"), (Scalars{{1, 1}}));
  const Scalars zeros = scalars(place.model_dir(), "dnn/hidden_0/fraction_of_zero_values");
  ASSERT_EQ(zeros.size(), 1u);
  EXPECT_GT(zeros[0].second, 0);
  EXPECT_LT(zeros[0].second, 1);
  double elements = 0;
  value_or_raise(monitor::read_events(*make_file_storage(), place.model_dir(), [&](const monitor::EventValue& value) {
    if (value.tag == "dnn/hidden_0/activation") elements = value.histogram.count;
    return true;
  }));
  EXPECT_EQ(elements, 20 * 3);
}

TEST(CannedEstimators, RefuseWhatCannotBe) {
  Place place;
  const auto config = [&] { return place.config(); };
  EXPECT_THAT(refusal([&] { linear_classifier({}, {}, config()); }), HasSubstr("linear: no columns were given"));
  EXPECT_THAT(refusal([&] { dnn_classifier({.columns = {numeric("x")}}, {}, config()); }),
              HasSubstr("hidden_units is empty"));
  EXPECT_THAT(refusal([&] {
                dnn_classifier({.columns = {numeric("x")}, .hidden_units = {3, 0}}, {}, config());
              }),
              HasSubstr("hidden_units has 0"));
  EXPECT_THAT(
      refusal([&] { dnn_classifier({.columns = {numeric("x")}, .hidden_units = {3}, .dropout = 1}, {}, config()); }),
      HasSubstr("dropout is 1"));
  EXPECT_THAT(refusal([&] { wide_and_deep_classifier({}, {}, config()); }), HasSubstr("neither part has columns"));
  EXPECT_THAT(refusal([&] { wide_and_deep_classifier({.dnn = {.columns = {numeric("x")}}}, {}, config()); }),
              HasSubstr("hidden_units is empty"));
  EXPECT_THAT(refusal([&] { baseline_classifier({}, {.n_classes = 1}, config()); }), HasSubstr("n_classes is 1"));
  EXPECT_THAT(refusal([&] { baseline_estimator({}, nullptr, config()); }), HasSubstr("the head is null"));
  Estimator bare = dnn_classifier({.columns = {colour()}, .hidden_units = {3}}, kYesOrNo, config());
  EXPECT_THAT(refusal([&] { bare.train(coloured_examples().batch(3)); }),
              HasSubstr("wrap it: indicator(...) or embedding("));
  Estimator lone = linear_regressor({.columns = {numeric("x")}}, {}, config());
  EXPECT_THAT(refusal([&] { lone.train(line({1, 2}).batch(2)); }), HasSubstr("columns take features by name"));
}

TEST(AddMetrics, PutsMetricsBesideThoseOfTheModel) {
  Place place;
  const Estimator plain = baseline_regressor({}, {}, place.config());
  const Estimator estimator = add_metrics(plain, [](const MetricsInput& of) -> NamedMetrics {
    return {{"mae",
             nn::mean(ops::abs(of.labels.single() - ops::reshape_like(of.predictions["predictions"], of.labels.single())))},
            {"label/mean", nn::mean(of.features["x"])}};
  });
  const Metrics report = estimator.evaluate(three());
  EXPECT_EQ(report.at("mae"), 2);
  EXPECT_EQ(report.at("label/mean"), 3);
  EXPECT_EQ(report.at("average_loss"), 4);
  EXPECT_EQ(plain.evaluate(three()).count("mae"), 0u);
  EXPECT_THAT(refusal([&] { add_metrics(plain, {}); }), HasSubstr("add_metrics: there is no metrics function"));
}

}  // namespace
}  // namespace shoal::testing
