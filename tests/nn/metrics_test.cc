// SPDX-License-Identifier: Apache-2.0
#include "shoal/nn/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "graph_runner.h"
#include "shoal/base/random.h"
#include "shoal/nn/binary_metrics.h"

namespace shoal::nn {
namespace {

using testing::HasSubstr;

class Metrics : public testing::Test {
 protected:
  Value input(const char* name, DType dtype, DimShape shape) { return graph_.input(name, dtype, std::move(shape)); }
  static Tensor floats(std::vector<float> values) {
    const Shape shape{int64_t(values.size())};
    return Tensor::of<float>(shape, std::span<const float>(values));
  }
  static Tensor ids(std::vector<int64_t> values) {
    const Shape shape{int64_t(values.size())};
    return Tensor::of<int64_t>(shape, std::span<const int64_t>(values));
  }
  static void update(MetricAccumulator& accumulator, const std::vector<Tensor>& batch) {
    std::vector<TensorView> views;
    for (const Tensor& tensor : batch) views.push_back(tensor.view());
    value_or_raise(accumulator.update(views));
  }

  Graph graph_;
  Dim batch_ = Dim::symbol("batch");
};

TEST_F(Metrics, MeanWeighsByExample) {
  const Metric metric = mean(input("x", DType::kFloat32, {batch_}), {.weights = input("w", DType::kFloat32, {batch_})});
  MetricAccumulator accumulator(metric);
  update(accumulator, {floats({4, 1}), floats({2, 1})});
  EXPECT_DOUBLE_EQ(accumulator.value(), (2 * 4 + 1 * 1) / 3.0);
  update(accumulator, {floats({7}), floats({0})});
  EXPECT_DOUBLE_EQ(accumulator.value(), 3.0);
  accumulator.reset();
  EXPECT_EQ(accumulator.value(), 0);
}

TEST_F(Metrics, UnevenBatchesAndMergedPartsEqualOnePassInDouble) {
  const Metric metric = mean(input("x", DType::kFloat32, {batch_}), {.weights = input("w", DType::kFloat32, {batch_})});
  std::vector<float> values(1237), weights(1237);
  fill_normal(5, 0, values, 1000, 3);
  fill_uniform(6, 0, weights, 0, 2);
  long double sum = 0, weight_sum = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    sum += static_cast<long double>(values[i]) * weights[i];
    weight_sum += weights[i];
  }
  MetricAccumulator first(metric), second(metric);
  RandomStream sizes(8);
  for (size_t begin = 0; begin < values.size();) {
    const size_t end = std::min(values.size(), begin + 1 + sizes.below(100));
    const auto part = [&](const std::vector<float>& all) {
      return floats({all.begin() + std::ptrdiff_t(begin), all.begin() + std::ptrdiff_t(end)});
    };
    update(begin % 2 == 0 ? first : second, {part(values), part(weights)});
    begin = end;
  }
  EXPECT_GT(second.totals()[1], 0);
  first.merge(second);
  EXPECT_NEAR(first.value(), double(sum / weight_sum), 1e-10);
}

TEST_F(Metrics, MeanTakesRowsWithOneWeightEach) {
  const Metric metric =
      mean(input("x", DType::kFloat32, {batch_, 2}), {.weights = input("w", DType::kFloat32, {batch_, 1})});
  MetricAccumulator accumulator(metric);
  update(accumulator, {Tensor::of<float>(Shape{2, 2}, {1, 3, 10, 20}), Tensor::of<float>(Shape{2, 1}, {3, 1})});
  EXPECT_DOUBLE_EQ(accumulator.value(), (3 * 1 + 3 * 3 + 10 + 20) / 8.0);
}

TEST_F(Metrics, MeanTakesIntegersAndTruthValues) {
  MetricAccumulator integers(mean(input("i", DType::kInt64, {batch_})));
  update(integers, {ids({1, 2, 6})});
  EXPECT_DOUBLE_EQ(integers.value(), 3);
  MetricAccumulator truths(mean(input("b", DType::kBool, {batch_})));
  update(truths, {Tensor::of<bool>(Shape{4}, {true, false, false, false})});
  EXPECT_DOUBLE_EQ(truths.value(), 0.25);
}

TEST_F(Metrics, AccuracyCountsEqualIds) {
  const Value labels = input("labels", DType::kInt64, {batch_}), classes = input("ids", DType::kInt64, {batch_, 1});
  MetricAccumulator plain(accuracy({.labels = labels, .predictions = classes}));
  update(plain, {ids({1, 2, 3}), Tensor::of<int64_t>(Shape{3, 1}, {1, 0, 3})});
  update(plain, {ids({5}), Tensor::of<int64_t>(Shape{1, 1}, {5})});
  EXPECT_DOUBLE_EQ(plain.value(), 0.75);
  MetricAccumulator weighted(
      accuracy({.labels = labels, .predictions = classes}, {.weights = input("w", DType::kFloat32, {batch_})}));
  update(weighted, {ids({1, 2}), Tensor::of<int64_t>(Shape{2, 1}, {1, 0}), floats({1, 3})});
  EXPECT_DOUBLE_EQ(weighted.value(), 0.25);
}

TEST_F(Metrics, AccuracyTellsLargeIdsApart) {
  // Neighbours beyond 2^53 are one number in double precision.
  const int64_t large = (int64_t(1) << 53) + 1;
  MetricAccumulator accumulator(
      accuracy({.labels = input("a", DType::kInt64, {batch_}), .predictions = input("b", DType::kInt64, {batch_})}));
  update(accumulator, {ids({large}), ids({large - 1})});
  EXPECT_EQ(accumulator.value(), 0);
}

TEST_F(Metrics, WithoutBatchesTheyAreZero) {
  EXPECT_EQ(MetricAccumulator(mean(input("x", DType::kFloat32, {batch_}))).value(), 0);
}

TEST_F(Metrics, BatchMeanWeighsByRows) {
  const Metric metric = batch_mean(
      {input("x", DType::kFloat32, {batch_})},
      [](std::span<const TensorView> batch) -> Result<double> { return double(std::ranges::max(batch[0].as<float>())); });
  MetricAccumulator accumulator(metric);
  update(accumulator, {floats({1, 5, 2})});
  update(accumulator, {floats({9})});
  EXPECT_DOUBLE_EQ(accumulator.value(), (3 * 5 + 9) / 4.0);
}

TEST_F(Metrics, AUsersMetricMergesAsItSays) {
  const Metric metric{
      .inputs = {input("x", DType::kFloat32, {batch_})},
      .start = {-1e300},
      .update = [](std::span<const TensorView> batch, std::span<double> totals) -> Result<void> {
        for (const float x : batch[0].as<float>()) totals[0] = std::max(totals[0], double(x));
        return {};
      },
      .value = [](std::span<const double> totals) { return totals[0]; },
      .merge = [](std::span<double> totals, std::span<const double> other) { totals[0] = std::max(totals[0], other[0]); }};
  MetricAccumulator one(metric), two(metric);
  update(one, {floats({3, 4})});
  update(two, {floats({8, 2})});
  one.merge(two);
  EXPECT_EQ(one.value(), 8);
}

TEST_F(Metrics, ErrorsOfUpdatesReachTheCaller) {
  const auto fail = [](std::span<const TensorView>) -> Result<double> { return invalid_argument("no"); };
  MetricAccumulator failing(batch_mean({input("x", DType::kFloat32, {batch_})}, fail));
  const Tensor batch = floats({1});
  const TensorView view = batch.view();
  const Result<void> result = failing.update({&view, 1});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message(), "no");
}

TEST_F(Metrics, RefuseWhatDoesNotFit) {
  const Value x = input("x", DType::kFloat32, {batch_, 3}), ids_ = input("ids", DType::kInt64, {batch_});
  const Value other = input("o", DType::kFloat32, {Dim::symbol("other")});
  EXPECT_THAT(raised([&] { mean(x, {.weights = other}); }),
              HasSubstr("weights are float32 [other], values float32 [batch, 3]"));
  EXPECT_THAT(raised([&] { mean(Value()); }), HasSubstr("expected numbers, got no value"));
  EXPECT_THAT(raised([&] { accuracy({.labels = ids_, .predictions = x}); }),
              HasSubstr("labels are int64 [batch], predictions float32 [batch, 3]"));
  EXPECT_THAT(raised([&] {
                accuracy({.labels = ids_, .predictions = input("j", DType::kInt64, {batch_, 2})});
              }),
              HasSubstr("of one shape"));
  EXPECT_THAT(raised([&] { accuracy({.labels = ids_, .predictions = ids_}, {.weights = other}); }),
              HasSubstr("weights are float32 [other]"));
  EXPECT_THAT(raised([&] { batch_mean({}, nullptr); }), HasSubstr("needs inputs and a function"));
  EXPECT_THAT(raised([&] { MetricAccumulator{Metric{}}; }), HasSubstr("needs both"));
}

/// Every pair compared, in double.
double exact_auc(const std::vector<int64_t>& labels, const std::vector<float>& predictions,
                 const std::vector<float>& weights) {
  double area = 0, pairs = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    for (size_t j = 0; j < labels.size(); ++j) {
      if (labels[i] != 1 || labels[j] != 0) continue;
      const double weight = double(weights[i]) * weights[j];
      pairs += weight;
      area += weight * (predictions[i] > predictions[j] ? 1 : (predictions[i] == predictions[j] ? 0.5 : 0));
    }
  }
  return area / pairs;
}

/// The precision at each positive, from the highest prediction down, averaged. With few equal predictions, that is close to
/// the area under the precision-recall curve.
double exact_precision_recall(const std::vector<int64_t>& labels, const std::vector<float>& predictions) {
  std::vector<size_t> order(labels.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::ranges::sort(order, std::greater(), [&](size_t i) { return predictions[i]; });
  double tp = 0, fp = 0, area = 0;
  for (const size_t i : order) {
    (labels[i] == 1 ? tp : fp) += 1;
    // Halfway between the points before and behind this positive.
    if (labels[i] == 1) area += (tp + fp == 1 ? 1 : (tp - 0.5) / (tp + fp - 0.5));
  }
  return area / tp;
}

TEST_F(Metrics, AucOfTheWorkedExample) {
  // Of four pairs three are in order: 0.8 and 0.35 are above 0.1, 0.8 above 0.4, 0.35 is not.
  MetricAccumulator accumulator(
      auc({.labels = input("y", DType::kInt64, {batch_}), .predictions = input("p", DType::kFloat32, {batch_})}));
  EXPECT_EQ(accumulator.value(), 0);
  update(accumulator, {ids({0, 0}), floats({0.1f, 0.4f})});
  EXPECT_EQ(accumulator.value(), 0) << "no positives";
  update(accumulator, {ids({1, 1}), floats({0.35f, 0.8f})});
  EXPECT_DOUBLE_EQ(accumulator.value(), 0.75);
  accumulator.reset();
  update(accumulator, {ids({0, 1, 0, 1}), floats({0, 1, 0.5f, 0.5f})});
  EXPECT_DOUBLE_EQ(accumulator.value(), (1 + 1 + 1 + 0.5) / 4) << "equal predictions count half";
}

TEST_F(Metrics, AucIsWithinAHundredthOfAllPairsWhereverThePredictionsLie) {
  const Metric metric =
      auc({.labels = input("y", DType::kInt64, {batch_}), .predictions = input("p", DType::kFloat32, {batch_})},
          {.weights = input("w", DType::kFloat32, {batch_})});
  struct Logits {
    float centre, spread;
  };
  // The last two: a model that hardly tells the examples apart, whose predictions all lie near 0.12 or 0.88.
  for (const auto& [centre, spread] :
       {Logits{0, 1.5f}, Logits{-12, 1.5f}, Logits{9, 1.5f}, Logits{-1.9924f, 0.005f}, Logits{1.9924f, 0.005f}}) {
    constexpr size_t kCount = 900;
    std::vector<float> logits(kCount), weights(kCount), predictions;
    fill_normal(7, 0, logits, centre, spread);
    fill_uniform(8, 0, weights, 0, 2);
    std::vector<int64_t> labels;
    RandomStream noise(9);
    for (float logit : logits) {
      predictions.push_back(1 / (1 + std::exp(-logit)));
      labels.push_back(1.5f * (logit - centre) / spread + 2 * noise.next_float() > 1 ? 1 : 0);
    }
    MetricAccumulator first(metric), second(metric);
    for (size_t i = 0; i < kCount; i += 100) {
      auto part = [&](const auto& all) { return std::vector(all.begin() + int64_t(i), all.begin() + int64_t(i) + 100); };
      update(i < 400 ? first : second, {ids(part(labels)), floats(part(predictions)), floats(part(weights))});
    }
    first.merge(second);
    EXPECT_NEAR(first.value(), exact_auc(labels, predictions, weights), 0.01) << "around " << centre;
  }
}

/// The logits of all examples lie from 0 to 0.02, those of the positives above those of the negatives.
TEST_F(Metrics, AucTellsPredictionsApartThatLieCloseTogether) {
  const LabelsAndPredictions pair{.labels = input("y", DType::kInt64, {batch_}),
                                  .predictions = input("p", DType::kFloat32, {batch_})};
  constexpr size_t kCount = 1000;
  std::vector<int64_t> labels;
  std::vector<float> predictions;
  for (size_t i = 0; i < kCount; ++i) {
    labels.push_back(i < kCount / 2 ? 0 : 1);
    predictions.push_back(1 / (1 + std::exp(-0.02f * float(i) / float(kCount))));
  }
  for (const Metric& metric : {auc(pair), auc_precision_recall(pair)}) {
    MetricAccumulator accumulator(metric);
    update(accumulator, {ids(labels), floats(predictions)});
    EXPECT_NEAR(accumulator.value(), 1, 0.01);
    accumulator.reset();
    EXPECT_EQ(accumulator.value(), 0);
  }
}

/// Probabilities of such logits are 0, 1 or too close together for float32.
TEST_F(Metrics, AucOfLogitsIsExactWhereverTheyLie) {
  const LabelsAndLogits pair{.labels = input("y", DType::kInt64, {batch_}),
                             .logits = input("l", DType::kFloat32, {batch_})};
  MetricAccumulator roc(auc(pair)), precision_recall(auc_precision_recall(pair));
  constexpr size_t kCount = 500;
  const std::vector<float> ones(kCount, 1);
  for (const float centre : {-100.0f, -40.0f, -30.0f, -20.0f, 0.0f, 2.0f, 12.0f, 16.0f, 20.0f, 90.0f}) {
    for (const float spread : {8.0f, 1.0f, 1e-2f, 1e-4f}) {
      std::vector<float> logits(kCount);
      fill_normal(7, 0, logits, centre, spread);
      std::vector<int64_t> labels;
      RandomStream noise(9);
      for (const float logit : logits) {
        labels.push_back(1.5f * (logit - centre) / spread + 2 * noise.next_float() > 1 ? 1 : 0);
      }
      const std::vector<Tensor> batch{ids(labels), floats(logits)};
      roc.reset();
      update(roc, batch);
      EXPECT_NEAR(roc.value(), exact_auc(labels, logits, ones), 1e-9) << centre << " " << spread;
      precision_recall.reset();
      update(precision_recall, batch);
      EXPECT_NEAR(precision_recall.value(), exact_precision_recall(labels, logits), 1e-3) << centre << " " << spread;
    }
  }
}

TEST_F(Metrics, AucOfLogitsTakesInfinitiesAndBothZeros) {
  const LabelsAndLogits pair{.labels = input("y", DType::kInt64, {batch_}),
                             .logits = input("l", DType::kFloat32, {batch_})};
  MetricAccumulator accumulator(auc(pair));
  const float infinity = std::numeric_limits<float>::infinity(), largest = std::numeric_limits<float>::max();
  update(accumulator, {ids({0, 0, 1, 1}), floats({-infinity, -largest, largest, infinity})});
  EXPECT_EQ(accumulator.value(), 1);
  accumulator.reset();
  update(accumulator, {ids({0, 1}), floats({0.0f, -0.0f})});
  EXPECT_EQ(accumulator.value(), 0.5) << "equal logits count half";
  const Tensor labels = ids({0, 1}), logits = floats({0, std::nanf("")});
  const std::vector<TensorView> views{labels.view(), logits.view()};
  EXPECT_THAT(accumulator.update(views).error().message(), HasSubstr("auc: logit 1 of a batch is nan; expected a number"));
  EXPECT_THAT(raised([&] {
                auc(LabelsAndLogits{.labels = pair.labels, .logits = input("wide", DType::kFloat32, {batch_, 2})});
              }),
              HasSubstr("auc: labels are int64 [batch], logits float32 [batch, 2]"));
}

/// As far as float32 itself tells them apart.
TEST_F(Metrics, AucTellsProbabilitiesNextToZeroAndOneApart) {
  MetricAccumulator accumulator(
      auc({.labels = input("y", DType::kInt64, {batch_}), .predictions = input("p", DType::kFloat32, {batch_})}));
  const float smallest = std::numeric_limits<float>::denorm_min();
  for (const auto& [lower, higher] :
       {std::pair(0.0f, smallest), std::pair(smallest, 2 * smallest), std::pair(1e-20f, 2e-20f),
        std::pair(1 - 0x1p-23f, 1 - 0x1p-24f), std::pair(1 - 0x1p-24f, 1.0f)}) {
    accumulator.reset();
    update(accumulator, {ids({0, 1}), floats({lower, higher})});
    EXPECT_EQ(accumulator.value(), 1) << lower << " and " << higher;
  }
}

/// More different logits than the metric keeps, in orders of the examples that could mislead it, in two merged parts.
TEST_F(Metrics, AreasOfVeryManyLogitsAreCloseToExactInEveryOrder) {
  constexpr size_t kCount = 120'000, kBatch = 1000;
  const LabelsAndLogits pair{.labels = input("y", DType::kInt64, {batch_}),
                             .logits = input("l", DType::kFloat32, {batch_})};
  struct Example {
    int64_t label;
    float logit;
  };
  using Order = bool (*)(const Example&, const Example&);
  const std::vector<std::pair<std::string, Order>> orders{
      {"as drawn", nullptr},
      {"ascending", [](const Example& a, const Example& b) { return a.logit < b.logit; }},
      {"negatives first", [](const Example& a, const Example& b) { return a.label < b.label; }},
      {"positives first", [](const Example& a, const Example& b) { return a.label > b.label; }},
      {"from both sides",
       [](const Example& a, const Example& b) { return std::abs(a.logit - 2.7f) > std::abs(b.logit - 2.7f); }}};
  for (const double positives : {0.5, 0.001}) {
    std::vector<float> noise(kCount);
    fill_normal(3, 0, noise, 2, 1);
    RandomStream random(4);
    std::vector<Example> examples(kCount);
    for (size_t i = 0; i < kCount; ++i) {
      const bool positive = random.next_float() < positives;
      examples[i] = {.label = positive, .logit = noise[i] + (positive ? 1.5f : 0)};
    }
    std::vector<Example> sorted = examples;
    std::ranges::sort(sorted, {}, &Example::logit);
    std::vector<int64_t> labels;
    std::vector<float> logits;
    double negatives = 0, area = 0;
    for (const Example& example : sorted) {
      labels.push_back(example.label);
      logits.push_back(example.logit);
      (example.label == 1 ? area : negatives) += example.label == 1 ? negatives : 1;
    }
    area /= negatives * (double(kCount) - negatives);
    const double precision_recall_area = exact_precision_recall(labels, logits);
    for (const auto& [name, order] : orders) {
      std::vector<Example> fed = examples;
      if (order) std::ranges::stable_sort(fed, order);
      for (const auto& [metric, expected] :
           {std::pair(auc(pair), area), std::pair(auc_precision_recall(pair), precision_recall_area)}) {
        MetricAccumulator first(metric), second(metric);
        for (size_t begin = 0; begin < kCount; begin += kBatch) {
          std::vector<int64_t> batch_labels;
          std::vector<float> batch_logits;
          for (size_t i = begin; i < begin + kBatch; ++i) {
            batch_labels.push_back(fed[i].label);
            batch_logits.push_back(fed[i].logit);
          }
          update(begin < kCount / 3 ? first : second, {ids(batch_labels), floats(batch_logits)});
        }
        first.merge(second);
        EXPECT_NEAR(first.value(), expected, 0.001) << name << ", positives " << positives;
      }
    }
  }
}

TEST_F(Metrics, TotalsMayStartWithZerosThatTakeNoMemoryInTheMetric) {
  const Metric metric{.inputs = {input("x", DType::kFloat32, {batch_})},
                      .start = {5},
                      .update = [](std::span<const TensorView> batch, std::span<double> totals) -> Result<void> {
                        for (const float x : batch[0].as<float>()) totals[size_t(x)] += 1;
                        return {};
                      },
                      .value = [](std::span<const double> totals) { return totals[0]; },
                      .merge = {},
                      .zeros = 2};
  MetricAccumulator one(metric), two(metric);
  EXPECT_THAT(one.totals(), testing::ElementsAre(5, 0, 0));
  update(one, {floats({1, 2, 2})});
  update(two, {floats({0, 2})});
  one.merge(two);
  EXPECT_THAT(one.totals(), testing::ElementsAre(5 + 6, 1, 3));
  one.reset();
  EXPECT_THAT(one.totals(), testing::ElementsAre(5, 0, 0));
}

TEST_F(Metrics, AucRefusesWhatIsNoLabelAndNoProbability) {
  MetricAccumulator accumulator(
      auc({.labels = input("y", DType::kInt64, {batch_}), .predictions = input("p", DType::kFloat32, {batch_})}));
  auto refusal = [&](const Tensor& labels, const Tensor& predictions) {
    const std::vector<TensorView> views{labels.view(), predictions.view()};
    return accumulator.update(views).error().message();
  };
  EXPECT_THAT(refusal(ids({0, 2}), floats({0, 0})), HasSubstr("label 1 of a batch is 2"));
  EXPECT_THAT(refusal(ids({0, 1}), floats({0, 1.5f})), HasSubstr("prediction 1 of a batch is 1.5"));
  EXPECT_THAT(refusal(ids({0}), floats({std::nanf("")})), HasSubstr("prediction 0 of a batch is nan"));
  EXPECT_THAT(refusal(ids({0}), floats({0, 0})), HasSubstr("labels of shape [1] and predictions of shape [2]"));
  EXPECT_THROW(auc({.labels = input("a", DType::kInt64, {batch_}), .predictions = input("b", DType::kInt64, {batch_})}),
               Exception);
}

}  // namespace
}  // namespace shoal::nn
