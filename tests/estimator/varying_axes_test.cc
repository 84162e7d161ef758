// SPDX-License-Identifier: Apache-2.0
// Inputs with axes whose sizes change from batch to batch (Estimator::vary).
#include "fixture.h"
#include "model/input_types.h"
#include "shoal/estimator/exported_model.h"

namespace shoal::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A batch of sequences "x" [batch, time] of equal length, and a label for each.
struct Sequences {
  std::vector<std::vector<float>> x;
  std::vector<float> y;
};

/// Sequences of 3, 1, 4 and again 3 positions; the second batch has another number of examples.
const std::vector<Sequences> kBatches{{{{1, 2, 3}, {0, -1, 2}}, {1, 2}},
                                      {{{2}}, {-1}},
                                      {{{1, 0, 0, 1}, {2, -2, 1, 0}}, {0, 3}},
                                      {{{0.5f, 0.5f, 1}, {1, 1, 1}}, {2, -2}}};

Tensor matrix(const std::vector<std::vector<float>>& rows) {
  Tensor tensor(DType::kFloat32, {int64_t(rows.size()), int64_t(rows[0].size())});
  float* at = tensor.mutable_as<float>().data();
  for (const auto& row : rows) at = std::copy(row.begin(), row.end(), at);
  return tensor;
}

Dataset batches(const std::vector<Sequences>& all = kBatches, bool labels = true) {
  return Dataset::from_generator([all, labels] {
    return [all, labels, next = size_t(0)](data::Element& element) mutable -> Result<bool> {
      if (next == all.size()) return false;
      const Sequences& batch = all[next++];
      element.features = data::TensorMap{{"x", matrix(batch.x)}};
      element.labels = data::TensorMap();
      if (labels) element.labels = Tensor::of<float>({int64_t(batch.y.size()), 1}, batch.y);
      return true;
    };
  });
}

/// y = w * (the sum of the sequence); w begins at 0. Predicts y, and each position times 2.
EstimatorSpec sum_model(const Features& features, const Labels& labels, Mode mode, const Params&, const RunConfig&) {
  EstimatorSpec spec;
  spec.mode = mode;
  const Value sum = ops::reduce_sum(features["x"], {.axes = {1}, .keep_dims = true});
  const Value y = nn::dense(sum, {.units = 1, .use_bias = false, .kernel_initializer = nn::zeros(), .name = "sum"});
  spec.predictions = {{"y", y}, {"twice", features["x"] * 2.0}};
  if (mode == Mode::kPredict) return spec;
  spec.loss = nn::reduce_loss(nn::squared_error({.labels = labels.single(), .predictions = y}));
  if (mode == Mode::kTrain) spec.train_op = nn::sgd({.learning_rate = 0.01}).minimize(spec.loss);
  return spec;
}

const VaryingAxes kTime{{"features/x", {"time"}}};

/// The same steps in float64, without a graph.
struct ByHand {
  double w = 0;
  double loss(const Sequences& batch) const {
    double sum = 0;
    for (size_t i = 0; i < batch.y.size(); ++i) sum += error(batch, i) * error(batch, i);
    return sum / double(batch.y.size());
  }
  void step(const Sequences& batch) {
    double gradient = 0;
    for (size_t i = 0; i < batch.y.size(); ++i) gradient += 2 * error(batch, i) * of(batch, i) / double(batch.y.size());
    w -= 0.01 * gradient;
  }
  static double of(const Sequences& batch, size_t i) {
    double sum = 0;
    for (float x : batch.x[i]) sum += double(x);
    return sum;
  }
  double error(const Sequences& batch, size_t i) const { return w * of(batch, i) - double(batch.y[i]); }
};

TEST(VaryingAxes, TrainsAndEvaluatesSequencesOfAnyLength) {
  Place place;
  Estimator estimator = place.estimator(sum_model);
  estimator.vary(kTime);
  ByHand expected;
  std::vector<double> expected_losses, seen;
  for (const Sequences& batch : kBatches) {
    expected_losses.push_back(expected.loss(batch));
    expected.step(batch);
  }
  estimator.train(
      batches(),
      {.hooks = {after_each_step([&](RunContext&, const StepValues& values) { seen.push_back(double(values.loss())); })}});
  EXPECT_THAT(seen, ::testing::Pointwise(::testing::DoubleNear(1e-5), expected_losses));
  EXPECT_NEAR(double(estimator.variable_value("sum/kernel").as<float>()[0]), expected.w, 1e-6);
  double mean = 0;
  for (const Sequences& batch : kBatches) mean += expected.loss(batch) / double(kBatches.size());
  EXPECT_NEAR(estimator.evaluate(batches()).at("loss"), mean, 1e-5);
}

TEST(VaryingAxes, PredictionsAreAsLongAsTheirInput) {
  Place place;
  Estimator estimator = place.estimator(sum_model);
  estimator.vary(kTime).train(batches());
  const auto predictions = estimator.predict(batches(kBatches, false));
  for (const Sequences& batch : kBatches) {
    for (const std::vector<float>& x : batch.x) {
      const auto one = predictions->next();
      ASSERT_TRUE(one);
      std::vector<float> twice;
      for (float value : x) twice.push_back(2 * value);
      EXPECT_EQ(floats(*one->find("twice")), twice);
    }
  }
  EXPECT_FALSE(predictions->next());
}

TEST(VaryingAxes, AnExportTakesAnyLength) {
  Place place;
  Estimator estimator = place.estimator(sum_model);
  estimator.vary(kTime).train(batches());
  const std::string folder = estimator.export_model(place.folder / "export", batches(kBatches, false));
  const auto model = load_exported_model(folder, {.threads = 1, .backend = "reference"});
  EXPECT_THAT(model->inputs()[0].shape, ElementsAre(-1, -1));
  EXPECT_THAT(model->inputs()[0].axes, ElementsAre("batch", "time"));
  EXPECT_TRUE(model->outputs()[0].axes.empty());  // "y" has a row for each example, and no time.
  const auto predictions = estimator.predict(batches(kBatches, false), {.yield_single_examples = false});
  for (const Sequences& batch : kBatches) {
    const auto expected = predictions->next();
    const data::TensorMap got = model->predict({{"x", matrix(batch.x)}});
    for (const char* key : {"y", "twice"}) EXPECT_EQ(floats(*got.find(key)), floats(*expected->find(key)));
  }
  EXPECT_EQ(floats(*model->predict({{"x", Tensor::of<float>({1, 6}, {1, 2, 3, 4, 5, 6})}}).find("twice")),
            (std::vector<float>{2, 4, 6, 8, 10, 12}));
  EXPECT_EQ(model->profile({.batch = 4, .runs = 1}).runs, 1);
  EXPECT_THAT(refusal([&] {
                model->predict({{"x", Tensor::zeros(DType::kFloat32, {2, 3, 1})}});
              }),
              HasSubstr("features/x"));
}

TEST(VaryingAxes, OneNameIsOneSizeInABatch) {
  const auto model = [](const Features& features, Mode mode) {
    EstimatorSpec spec;
    spec.mode = mode;
    spec.loss = ops::reduce_mean(features["a"] + features["b"]);
    spec.predictions = {{"loss", features["a"]}};
    if (mode == Mode::kTrain) spec.train_op = nn::train_op({});
    return spec;
  };
  const auto input = [](std::vector<std::pair<int64_t, int64_t>> lengths) {
    return Dataset::from_generator([lengths] {
      return [lengths, next = size_t(0)](data::Element& element) mutable -> Result<bool> {
        if (next == lengths.size()) return false;
        const auto [a, b] = lengths[next++];
        element.features = {{"a", Tensor::zeros(DType::kFloat32, {2, a})}, {"b", Tensor::zeros(DType::kFloat32, {2, b})}};
        return true;
      };
    });
  };
  Place place;
  Estimator estimator = place.estimator(model);
  estimator.vary({{"features/a", {"time"}}, {"features/b", {"time"}}});
  estimator.train(input({{3, 3}, {5, 5}}));
  EXPECT_THAT(refusal([&] {
                estimator.train(input({{3, 3}, {5, 4}}));
              }),
              HasSubstr("input features/b is [2, 4]; axis 1 is time, which is 5 in another input of the batch"));
  EXPECT_THAT(refusal([&] { estimator.train(input({{2, 4}})); }), HasSubstr("axis 1 is time"));
}

TEST(InputNames, ABatchWithOthersSaysWhichAreMissingAndWhichAreTooMany) {
  const auto batch = [](const std::vector<std::string>& names) {
    data::Batch made;
    for (const std::string& name : names) made.features.set(name, Tensor::zeros(DType::kFloat32, {2, 1}));
    return made;
  };
  const InputTypes types = value_or_raise(input_types(batch({"area", "city", "rooms"}), {}));
  const auto refused = [&](const data::Batch& other) {
    const Result<SymbolSizes> sizes = sizes_in(other, types);
    return sizes ? "nothing" : sizes.error().message();
  };
  EXPECT_EQ(refused(batch({"area", "city", "rooms"})), "nothing");
  EXPECT_EQ(refused(batch({"city"})), "a batch lacks features/area, features/rooms; it has features/city");
  EXPECT_EQ(refused(batch({"area", "city", "rooms", "when"})),
            "a batch has features/when, which the model was not built for; it was built for features/area, features/city, "
            "features/rooms");
  EXPECT_EQ(refused(batch({"Area", "city", "rooms"})),
            "a batch lacks features/area and has features/Area, which the model was not built for; it was built for "
            "features/area, features/city, features/rooms");
  data::Batch labelled = batch({"area", "city", "rooms"});
  labelled.labels = Tensor::zeros(DType::kFloat32, {2});
  EXPECT_EQ(refused(labelled), "a batch has labels, which the model was not built for");
  const InputTypes with_labels = value_or_raise(input_types(labelled, {}));
  EXPECT_EQ(sizes_in(batch({"area", "city", "rooms"}), with_labels).error().message(), "a batch lacks labels");
}

TEST(VaryingAxes, SaysWhatIsWrong) {
  Place place;
  Estimator estimator = place.estimator(sum_model);
  EXPECT_THAT(refusal([&] { estimator.train(batches()); }),
              HasSubstr("input features/x is float32 [1, 1]; the model was built for float32 [1, 3]"));
  EXPECT_THAT(refusal([&] { estimator.vary({{"features/x", {"batch"}}}); }), HasSubstr("take another name"));
  estimator.vary({{"features/z", {"time"}}});
  EXPECT_THAT(refusal([&] { estimator.train(batches()); }),
              HasSubstr("names features/z, which is no input; there are: features/x, labels"));
  estimator.vary({{"features/x", {"time", "height"}}});
  EXPECT_THAT(refusal([&] { estimator.evaluate(batches()); }), HasSubstr("names 2 axes of it beside the batch"));
  estimator.vary({{"features/x", {"time"}}, {"labels", {""}}});
  estimator.train(batches(kBatches), {.steps = 1});
  EXPECT_TRUE(estimator.predict(batches(kBatches, false))->next());  // A batch for prediction has no labels.
}

TEST(VaryingAxes, ManySizesAreNotAllTold) {
  std::vector<Sequences> many;
  for (size_t length = 1; length <= 40; ++length) many.push_back({{std::vector<float>(length, 0.1f)}, {1}});
  Place place;
  Estimator estimator = place.estimator(sum_model);
  estimator.vary(kTime).train(batches(many));
  EXPECT_EQ(place.log.count('I', "program for batch 1, time 3: "), 1);
  EXPECT_EQ(place.log.count('I', "program for batch 1, time "), 16);
  EXPECT_EQ(place.log.count('I', "more programs are compiled"), 1);
}

}  // namespace
}  // namespace shoal::testing
