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
