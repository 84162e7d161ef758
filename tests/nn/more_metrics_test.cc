// SPDX-License-Identifier: Apache-2.0
// Metrics of two classes, of predicted numbers, and of many classes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "graph_runner.h"
#include "shoal/nn/binary_metrics.h"
#include "shoal/nn/regression_metrics.h"

namespace shoal::nn {
namespace {

using testing::HasSubstr;

class MoreMetrics : public testing::Test {
 protected:
  Value input(const char* name, DType dtype = DType::kFloat32) { return graph_.input(name, dtype, {batch_}); }
  static Tensor floats(std::vector<float> values) {
    const Shape shape{int64_t(values.size())};
    return Tensor::of<float>(shape, std::span<const float>(values));
  }
  static Tensor ids(std::vector<int64_t> values) {
    const Shape shape{int64_t(values.size())};
    return Tensor::of<int64_t>(shape, std::span<const int64_t>(values));
  }
  static Result<void> update(MetricAccumulator& accumulator, const std::vector<Tensor>& batch) {
    std::vector<TensorView> views;
    for (const Tensor& tensor : batch) views.push_back(tensor.view());
    return accumulator.update(views);
  }
  static double value(const Metric& metric, const std::vector<Tensor>& batch) {
    MetricAccumulator accumulator(metric);
    value_or_raise(update(accumulator, batch));
    return accumulator.value();
  }

  Graph graph_;
  Dim batch_ = Dim::symbol("batch");
  Value labels_ = input("labels"), p_ = input("p"), weights_ = input("weights");
  LabelsAndPredictions pair_{.labels = labels_, .predictions = p_};
};

// By hand, from the points (tp, fp) = (0, 0), (1, 0), (1, 1), (2, 1): 1 * 1/2, then the integral of (1 + x) / (2 + x) over
// [0, 1], halved, since between two thresholds counts grow in proportion.
TEST_F(MoreMetrics, AreaUnderPrecisionAndRecallByHand) {
  const double area = 0.5 + (1 - std::log(1.5)) / 2;
  EXPECT_NEAR(value(auc_precision_recall(pair_), {floats({1, 0, 1, 0}), floats({0.9f, 0.6f, 0.4f, 0.1f})}), area, 1e-12);
  EXPECT_DOUBLE_EQ(value(auc_precision_recall(pair_), {floats({1, 1, 0}), floats({0.9f, 0.8f, 0.1f})}), 1);
  EXPECT_DOUBLE_EQ(value(auc_precision_recall(pair_), {floats({0, 0}), floats({0.9f, 0.1f})}), 0);
  // All alike: precision is the part of positives at every recall.
  EXPECT_NEAR(value(auc_precision_recall(pair_), {floats({1, 0, 0, 0}), floats({0.5f, 0.5f, 0.5f, 0.5f})}), 0.25, 1e-12);
}

TEST_F(MoreMetrics, EmptyDenominatorsAreZero) {
  for (const Metric& metric : {precision(pair_), recall(pair_), binary_accuracy(pair_), accuracy_baseline(labels_),
                               r_squared(pair_), mean_absolute_error(pair_), root_mean_squared_error(pair_)}) {
    EXPECT_EQ(MetricAccumulator(metric).value(), 0);
  }
  EXPECT_EQ(value(precision(pair_), {floats({1, 1}), floats({0.5f, 0.1f})}), 0);  // The tie is no positive.
  EXPECT_EQ(value(recall(pair_), {floats({0, 0}), floats({0.9f, 0.1f})}), 0);
}

TEST_F(MoreMetrics, LabelsAreZeroOrOne) {
  for (const Metric& metric : {precision(pair_), recall(pair_), auc(pair_), auc_precision_recall(pair_)}) {
    MetricAccumulator accumulator(metric);
    const auto updated = update(accumulator, {floats({1, 2}), floats({0.5f, 0.5f})});
    ASSERT_FALSE(updated);
    EXPECT_THAT(updated.error().message(), HasSubstr("label 1 of a batch is 2"));
  }
}

TEST_F(MoreMetrics, ErrorsOfNumbers) {
  const std::vector<Tensor> batch{floats({1, 2, 4}), floats({2, 2, 1}), floats({1, 5, 2})};
  EXPECT_DOUBLE_EQ(value(mean_absolute_error(pair_, {.weights = weights_}), batch), (1 + 0 + 2 * 3) / 8.0);
  EXPECT_DOUBLE_EQ(value(root_mean_squared_error(pair_, {.weights = weights_}), batch), std::sqrt((1 + 2 * 9) / 8.0));
  const double mean = (1 + 10 + 8) / 8.0;
  const double total = (1 - mean) * (1 - mean) + 5 * (2 - mean) * (2 - mean) + 2 * (4 - mean) * (4 - mean);
  EXPECT_NEAR(value(r_squared(pair_, {.weights = weights_}), batch), 1 - 19 / total, 1e-12);
  EXPECT_EQ(value(r_squared(pair_), {floats({3, 3}), floats({3, 3})}), 1);
  EXPECT_EQ(value(r_squared(pair_), {floats({3, 3}), floats({3, 4})}), 0);
}

TEST_F(MoreMetrics, RSquaredMergesAndKeepsItsDigitsFarFromZero) {
  const Metric metric = r_squared(pair_);
  MetricAccumulator one(metric), a(metric), b(metric), none(metric);
  value_or_raise(update(one, {floats({1e6f, 1e6f + 1, 1e6f + 2, 1e6f + 3}), floats({1e6f, 1e6f + 1, 1e6f + 2, 1e6f + 2})}));
  value_or_raise(update(a, {floats({1e6f}), floats({1e6f})}));
  value_or_raise(update(b, {floats({1e6f + 1, 1e6f + 2, 1e6f + 3}), floats({1e6f + 1, 1e6f + 2, 1e6f + 2})}));
  a.merge(b);
  a.merge(none);
  EXPECT_NEAR(one.value(), 1 - 1 / 5.0, 1e-9);
  EXPECT_NEAR(a.value(), one.value(), 1e-9);
}

TEST_F(MoreMetrics, TopKCountsTies) {
  const Value logits = graph_.input("logits", DType::kFloat32, {batch_, 3});
  const Value classes = input("classes", DType::kInt64);
  const std::vector<float> rows{1, 2, 3, 5, 5, 0};
  const std::vector<Tensor> batch{ids({0, 1}), Tensor::of<float>(Shape{2, 3}, std::span<const float>(rows))};
  EXPECT_EQ(value(top_k_accuracy({.labels = classes, .logits = logits}, {.k = 1}), batch), 0.5);
  EXPECT_EQ(value(top_k_accuracy({.labels = classes, .logits = logits}, {.k = 2}), batch), 0.5);
  EXPECT_EQ(value(top_k_accuracy({.labels = classes, .logits = logits}, {.k = 3}), batch), 1);
  EXPECT_THAT(raised([&] { top_k_accuracy({.labels = classes, .logits = logits}, {.k = 0}); }), HasSubstr("k is 0"));
  EXPECT_THAT(raised([&] { top_k_accuracy({.labels = logits, .logits = logits}, {.k = 1}); }),
              HasSubstr("expected class ids"));
  MetricAccumulator accumulator(top_k_accuracy({.labels = classes, .logits = logits}, {.k = 1}));
  EXPECT_THAT(update(accumulator, {ids({0, 3}), batch[1]}).error().message(), HasSubstr("label 3"));
}

TEST_F(MoreMetrics, ConfusionCountsEveryPair) {
  const Value classes = input("classes", DType::kInt64), predicted = input("predicted", DType::kInt64);
  const auto cells = confusion_matrix({.labels = classes, .predictions = predicted}, {.classes = 2, .weights = weights_});
  ASSERT_EQ(cells.size(), 4u);
  const std::vector<Tensor> batch{ids({0, 0, 1, 1, 1}), ids({0, 1, 1, 1, 0}), floats({1, 1, 1, 2, 5})};
  const std::map<std::string, double> expected{
      {"confusion/0/0", 1}, {"confusion/0/1", 1}, {"confusion/1/0", 5}, {"confusion/1/1", 3}};
  for (const auto& [name, cell] : cells) EXPECT_EQ(value(cell, batch), expected.at(name)) << name;
  EXPECT_THAT(raised([&] { confusion_matrix({.labels = classes, .predictions = predicted}, {.classes = 0}); }),
              HasSubstr("classes is 0"));
}

TEST_F(MoreMetrics, ClassAccuracyIsAccuracyWithAMatrix) {
  const Value classes = input("classes", DType::kInt64), predicted = input("predicted", DType::kInt64);
  const LabelsAndPredictions pair{.labels = classes, .predictions = predicted};
  const std::vector<Tensor> batch{ids({0, 0, 1, 1, 1, 2, 7}), ids({0, 1, 1, 1, 0, -1, 7}),
                                  floats({1, 1, 1, 2, 5, 3, 0.5f})};
  MetricAccumulator accumulator(class_accuracy(pair, {.classes = 3, .weights = weights_}));
  ASSERT_TRUE(update(accumulator, batch));
  EXPECT_EQ(accumulator.value(), value(accuracy(pair, {.weights = weights_}), batch));
  const std::optional<MetricFigure> figure = accumulator.figure();
  ASSERT_TRUE(figure);
  EXPECT_EQ(figure->kind, MetricFigure::Kind::kConfusionMatrix);
  EXPECT_THAT(figure->shape, testing::ElementsAre(3, 3));
  EXPECT_THAT(figure->values, testing::ElementsAre(1, 1, 0, 5, 3, 0, 0, 0, 0)) << "ids outside are in the accuracy alone";
  MetricAccumulator other(class_accuracy(pair, {.classes = 3, .weights = weights_}));
  ASSERT_TRUE(update(other, {ids({2}), ids({0}), floats({4})}));
  accumulator.merge(other);
  EXPECT_THAT(accumulator.figure()->values, testing::ElementsAre(1, 1, 0, 5, 3, 0, 4, 0, 0));
  for (const int64_t wrong : {0, 1001}) {
    EXPECT_THAT(raised([&] { class_accuracy(pair, {.classes = wrong}); }),
                HasSubstr("class_accuracy: classes is " + std::to_string(wrong) + ", expected a number from 1 to 1000"));
  }
  EXPECT_THAT(raised([&] { class_accuracy(pair_, {.classes = 2}); }),
              HasSubstr("class_accuracy: labels are float32 [batch]"));
}

/// Against counts over the examples themselves, at thresholds where no example is near.
TEST_F(MoreMetrics, ThePrecisionRecallFigureCountsAtThresholds) {
  const std::vector<float> labels{1, 0, 1, 0, 1, 1, 0}, p{0.93f, 0.02f, 0.6f, 0.61f, 0.32f, 1, 0},
      weights{1, 2, 3, 1, 1, 0.5f, 1};
  MetricAccumulator accumulator(auc_precision_recall(pair_, {.weights = weights_}));
  ASSERT_TRUE(update(accumulator, {floats(labels), floats(p), floats(weights)}));
  const std::optional<MetricFigure> figure = accumulator.figure();
  ASSERT_TRUE(figure);
  EXPECT_EQ(figure->kind, MetricFigure::Kind::kPrecisionRecall);
  ASSERT_THAT(figure->shape, testing::ElementsAre(6, 101));
  const auto row = [&](size_t number, size_t i) { return figure->values[number * 101 + i]; };
  for (const size_t i : {0, 1, 10, 25, 40, 50, 70, 90, 97, 100}) {
    const float threshold = float(i) / 100;
    float tp = 0, fp = 0, tn = 0, fn = 0;
    for (size_t e = 0; e < p.size(); ++e) {
      const bool taken = p[e] >= threshold;
      (labels[e] == 1 ? (taken ? tp : fn) : (taken ? fp : tn)) += weights[e];
    }
    EXPECT_EQ(row(0, i), tp) << threshold;
    EXPECT_EQ(row(1, i), fp) << threshold;
    EXPECT_EQ(row(2, i), tn) << threshold;
    EXPECT_EQ(row(3, i), fn) << threshold;
    EXPECT_FLOAT_EQ(row(4, i), tp + fp == 0 ? 0 : tp / (tp + fp)) << threshold;
    EXPECT_FLOAT_EQ(row(5, i), tp / (tp + fn)) << threshold;
  }
  const MetricAccumulator empty(auc_precision_recall(pair_));
  EXPECT_THAT(empty.figure()->values, testing::Each(0.0f));
  EXPECT_FALSE(MetricAccumulator(auc(pair_)).figure());
}

TEST_F(MoreMetrics, ThePrecisionRecallFigureOfLogitsHasTheThresholdsOfProbabilities) {
  const std::vector<float> logits{-30, -3, -0.7f, 0, 0.4f, 2, 30}, labels{0, 0, 1, 0, 1, 1, 1};
  std::vector<float> p;
  for (const float logit : logits) p.push_back(1 / (1 + std::exp(-logit)));
  p.back() = 0.9999f;  // Its probability in float32, 1, is also above threshold 1; that of a finite logit never is.
  MetricAccumulator by_logits(auc_precision_recall(LabelsAndLogits{.labels = labels_, .logits = p_}));
  MetricAccumulator by_probabilities(auc_precision_recall(pair_));
  ASSERT_TRUE(update(by_logits, {floats(labels), floats(logits)}));
  ASSERT_TRUE(update(by_probabilities, {floats(labels), floats(p)}));
  EXPECT_EQ(by_logits.figure()->values, by_probabilities.figure()->values);
}

TEST_F(MoreMetrics, RefuseWhatDoesNotFit) {
  const Value wide = graph_.input("wide", DType::kFloat32, {batch_, 3});
  const Value text = graph_.input("text", DType::kString, {batch_});
  EXPECT_THAT(raised([&] { precision({.labels = labels_, .predictions = wide}); }),
              HasSubstr("precision: labels are float32 [batch], predictions"));
  EXPECT_THAT(raised([&] { recall({.labels = text, .predictions = p_}); }), HasSubstr("labels are string [batch]"));
  EXPECT_THAT(raised([&] { r_squared({.labels = labels_, .predictions = wide}); }), HasSubstr("r_squared: labels are"));
  EXPECT_THAT(raised([&] { mean_absolute_error(pair_, {.weights = wide}); }), HasSubstr("weights are float32 [batch, 3]"));
}

}  // namespace
}  // namespace shoal::nn
