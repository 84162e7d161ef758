// SPDX-License-Identifier: Apache-2.0
#include "shoal/nn/losses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "graph_runner.h"
#include "shoal/base/random.h"
#include "shoal/graph/ops.h"

namespace shoal::nn {
namespace {

using testing::HasSubstr;

Tensor floats(Shape shape, const std::vector<float>& values) {
  return Tensor::of<float>(shape, std::span<const float>(values));
}

/// -log softmax(row)[label], in double precision.
double cross_entropy(const float* row, int classes, int64_t label) {
  double maximum = row[0], sum = 0;
  for (int c = 1; c < classes; ++c) maximum = std::max(maximum, double(row[c]));
  for (int c = 0; c < classes; ++c) sum += std::exp(double(row[c]) - maximum);
  return maximum + std::log(sum) - row[label];
}

/// d f / d x by central differences of a double-precision f.
std::vector<double> finite_differences(const std::function<double(const std::vector<float>&)>& f, std::vector<float> x) {
  std::vector<double> slopes;
  for (size_t i = 0; i < x.size(); ++i) {
    const float middle = x[i];
    x[i] = middle + 0.0078125f;
    const double above = f(x);
    x[i] = middle - 0.0078125f;
    slopes.push_back((above - f(x)) / (2 * 0.0078125));
    x[i] = middle;
  }
  return slopes;
}

class Losses : public testing::Test {
 protected:
  Graph graph_;
  Dim batch_ = Dim::symbol("batch");
};

TEST_F(Losses, CrossEntropyAgreesWithDoublePrecision) {
  const Value logits = graph_.input("logits", DType::kFloat32, {batch_, 3});
  const Value losses = softmax_cross_entropy({.labels = graph_.input("labels", DType::kInt64, {batch_}), .logits = logits});
  const std::vector<float> rows{10, 0, 0, 0, 10, 0, -300, 200, 1, 1, 1, 1};
  const std::vector<int64_t> labels{1, 1, 0, 2};
  GraphRunner runner(graph_, {{"batch", 4}});
  const auto seen = runner.floats(
      losses, {{"logits", floats(Shape{4, 3}, rows)}, {"labels", Tensor::of<int64_t>(Shape{4}, {1, 1, 0, 2})}});
  ASSERT_EQ(seen.size(), 4u);
  for (size_t r = 0; r < 4; ++r) {
    const double expected = cross_entropy(&rows[3 * r], 3, labels[r]);
    EXPECT_NEAR(seen[r], expected, 1e-6 * (1 + expected)) << r;
  }
}

TEST_F(Losses, CrossEntropyTakesColumnsAndSmallIntegers) {
  const Value logits = graph_.input("logits", DType::kFloat32, {batch_, 3});
  const Value column =
      softmax_cross_entropy({.labels = graph_.input("column", DType::kInt32, {batch_, 1}), .logits = logits});
  const Value bytes = softmax_cross_entropy({.labels = graph_.input("bytes", DType::kUInt8, {batch_}), .logits = logits});
  GraphRunner runner(graph_, {{"batch", 2}});
  const Feeds feeds{{"logits", floats(Shape{2, 3}, {1, 2, 3, 4, 4, 4})},
                    {"column", Tensor::of<int32_t>(Shape{2, 1}, {2, 0})},
                    {"bytes", Tensor::of<uint8_t>(Shape{2}, {2, 0})}};
  EXPECT_EQ(runner.floats(column, feeds), runner.floats(bytes, feeds));
  EXPECT_NEAR(runner.floats(column, feeds)[1], std::log(3.0), 1e-6);
}

TEST_F(Losses, LabelOutOfRangeEndsTheStepNamingRowAndValue) {
  const Value logits = graph_.input("logits", DType::kFloat32, {batch_, 3});
  const Value loss =
      reduce_loss(softmax_cross_entropy({.labels = graph_.input("labels", DType::kInt64, {batch_}), .logits = logits}));
  GraphRunner runner(graph_, {{"batch", 2}});
  for (const int64_t wrong : {int64_t(3), int64_t(-1)}) {
    const auto result = runner.run({loss}, {{"logits", floats(Shape{2, 3}, {1, 2, 3, 4, 5, 6})},
                                            {"labels", Tensor::of<int64_t>(Shape{2}, {0, wrong})}});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind(), ErrorKind::kInvalidArgument);
    EXPECT_THAT(result.error().message(), HasSubstr(std::to_string(wrong)));
    EXPECT_THAT(result.error().message(), HasSubstr("row 1"));
  }
}

TEST_F(Losses, GradientsOfCrossEntropyAgreeWithFiniteDifferences) {
  constexpr int kRows = 5, kClasses = 4;
  const std::vector<int64_t> labels{0, 3, 1, 1, 2};
  const std::vector<float> weights{1, 0.5f, 2, 0, 3};
  std::vector<float> start(kRows * kClasses);
  fill_normal(3, 0, start, 0, 2);
  for (const LossReduction reduction : {LossReduction::kSumOverBatchSize, LossReduction::kSum}) {
    for (const bool weighted : {false, true}) {
      SCOPED_TRACE(std::string(to_string(reduction)) + (weighted ? ", weighted" : ""));
      Graph graph;
      const Value logits = graph.input("logits", DType::kFloat32, {batch_, kClasses});
      const Value losses =
          softmax_cross_entropy({.labels = graph.input("labels", DType::kInt64, {batch_}), .logits = logits});
      ReduceLossOptions options{.weights = {}, .reduction = reduction};
      if (weighted) options.weights = graph.input("weights", DType::kFloat32, {batch_, 1});
      const Value slopes = gradients(reduce_loss(losses, options), {logits}).at(0);
      GraphRunner runner(graph, {{"batch", kRows}});
      const Feeds feeds{{"logits", floats(Shape{kRows, kClasses}, start)},
                        {"labels", Tensor::of<int64_t>(Shape{kRows}, std::span<const int64_t>(labels))},
                        {"weights", floats(Shape{kRows, 1}, weights)}};
      const auto seen = runner.floats(slopes, feeds);
      const auto expected = finite_differences(
          [&](const std::vector<float>& x) {
            double sum = 0;
            for (size_t r = 0; r < kRows; ++r) {
              sum += (weighted ? double(weights[r]) : 1.0) * cross_entropy(&x[r * kClasses], kClasses, labels[r]);
            }
            return reduction == LossReduction::kSum ? sum : sum / kRows;
          },
          start);
      ASSERT_EQ(seen.size(), expected.size());
      for (size_t i = 0; i < seen.size(); ++i) EXPECT_NEAR(seen[i], expected[i], 1e-4) << i;
    }
  }
}

TEST_F(Losses, GradientsOfSquaredErrorAgreeWithFiniteDifferences) {
  const Value x = graph_.input("x", DType::kFloat32, {batch_, 2}), y = graph_.input("y", DType::kFloat32, {batch_, 2});
  const Value loss = reduce_loss(squared_error({.labels = y, .predictions = x}));
  const std::vector<float> predictions{1, -2, 0.5f, 4}, labels{0, -2, 2, 1};
  GraphRunner runner(graph_, {{"batch", 2}});
  const Feeds feeds{{"x", floats(Shape{2, 2}, predictions)}, {"y", floats(Shape{2, 2}, labels)}};
  EXPECT_FLOAT_EQ(runner.number(loss, feeds), (1 + 0 + 2.25f + 9) / 4);
  const auto seen = runner.floats(gradients(loss, {x}).at(0), feeds);
  const auto expected = finite_differences(
      [&](const std::vector<float>& p) {
        double sum = 0;
        for (size_t i = 0; i < p.size(); ++i) sum += (double(p[i]) - labels[i]) * (double(p[i]) - labels[i]);
        return sum / 4;
      },
      predictions);
  for (size_t i = 0; i < seen.size(); ++i) EXPECT_NEAR(seen[i], expected[i], 1e-5) << i;
}

TEST_F(Losses, CrossEntropyOfSequencesHasOneValuePerLabel) {
  const Value logits = graph_.input("logits", DType::kFloat32, {batch_, 2, 3});
  const Value losses =
      softmax_cross_entropy({.labels = graph_.input("labels", DType::kInt32, {batch_, 2}), .logits = logits});
  const Value weights = graph_.input("weights", DType::kFloat32, {batch_, 2});
  const Value loss = reduce_loss(losses, {.weights = weights, .reduction = LossReduction::kSum});
  GraphRunner runner(graph_, {{"batch", 1}});
  const std::vector<float> rows{1, 2, 3, -1, 0, 2};
  const Feeds feeds{{"logits", floats(Shape{1, 2, 3}, rows)},
                    {"labels", Tensor::of<int32_t>(Shape{1, 2}, {2, 0})},
                    {"weights", floats(Shape{1, 2}, {1, 0.5f})}};
  const double first = cross_entropy(&rows[0], 3, 2), second = cross_entropy(&rows[3], 3, 0);
  EXPECT_NEAR(runner.floats(losses, feeds)[1], second, 1e-6);
  EXPECT_NEAR(runner.number(loss, feeds), first + 0.5 * second, 1e-6);
}

TEST_F(Losses, SmoothingSpreadsTheLabelOverAllClasses) {
  const Value logits = graph_.input("logits", DType::kFloat32, {batch_, 4});
  const Value labels = graph_.input("labels", DType::kInt64, {batch_});
  const Value smoothed = softmax_cross_entropy({.labels = labels, .logits = logits}, {.label_smoothing = 0.2});
  GraphRunner runner(graph_, {{"batch", 1}});
  const std::vector<float> row{1, -2, 3, 0.5f};
  double expected = 0.8 * cross_entropy(row.data(), 4, 1);
  for (int64_t label = 0; label < 4; ++label) expected += 0.05 * cross_entropy(row.data(), 4, label);
  EXPECT_NEAR(
      runner.number(smoothed, {{"logits", floats(Shape{1, 4}, row)}, {"labels", Tensor::of<int64_t>(Shape{1}, {1})}}),
      expected, 1e-6);
}

TEST_F(Losses, SoftLabelsWeighTheLossesOfTheClasses) {
  constexpr size_t kRows = 3, kClasses = 4;
  const Value logits = graph_.input("logits", DType::kFloat32, {batch_, int64_t(kClasses)});
  const Value labels = graph_.input("labels", DType::kFloat32, {batch_, int64_t(kClasses)});
  const Value plain = softmax_cross_entropy({.labels = labels, .logits = logits});
  const Value smoothed = softmax_cross_entropy({.labels = labels, .logits = logits}, {.label_smoothing = 0.2});
  const Value slopes = gradients(reduce_loss(plain), {logits}).at(0);
  const std::vector<float> start{1, -2, 3, 0.5f, 0, 0, -300, 200, 4, 4, 4, 4};
  const std::vector<float> soft{0.7f, 0.3f, 0, 0, 0.25f, 0.25f, 0.25f, 0.25f, 0, 1, 0, 0};
  const auto expected_of = [&](const std::vector<float>& x, size_t row, double smoothing) {
    double sum = 0;
    for (size_t c = 0; c < kClasses; ++c) {
      const double label = soft[row * kClasses + c] * (1 - smoothing) + smoothing / kClasses;
      sum += label * cross_entropy(&x[row * kClasses], kClasses, int64_t(c));
    }
    return sum;
  };
  GraphRunner runner(graph_, {{"batch", int64_t(kRows)}});
  const Feeds feeds{{"logits", floats(Shape{3, 4}, start)}, {"labels", floats(Shape{3, 4}, soft)}};
  const auto seen = runner.floats(plain, feeds), seen_smoothed = runner.floats(smoothed, feeds);
  ASSERT_EQ(seen.size(), kRows);
  for (size_t r = 0; r < kRows; ++r) {
    EXPECT_NEAR(seen[r], expected_of(start, r, 0), 1e-6 * (1 + seen[r])) << r;
    EXPECT_NEAR(seen_smoothed[r], expected_of(start, r, 0.2), 1e-6 * (1 + seen_smoothed[r])) << r;
  }
  const auto found = runner.floats(slopes, feeds);
  const auto expected = finite_differences(
      [&](const std::vector<float>& x) {
        double sum = 0;
        for (size_t r = 0; r < kRows; ++r) sum += expected_of(x, r, 0);
        return sum / kRows;
      },
      start);
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-4) << i;
  const Value reals = graph_.input("row", DType::kFloat32, {batch_});
  EXPECT_THAT(raised([&] { softmax_cross_entropy({.labels = reals, .logits = logits}); }),
              HasSubstr("labels are float32 [batch]; class ids have type int64"));
}

TEST_F(Losses, SoftLabelsOfSequencesHaveOneLossPerPosition) {
  const Value logits = graph_.input("logits", DType::kFloat32, {batch_, 2, 3});
  const Value losses =
      softmax_cross_entropy({.labels = graph_.input("labels", DType::kFloat32, {batch_, 2, 3}), .logits = logits});
  GraphRunner runner(graph_, {{"batch", 1}});
  const std::vector<float> rows{1, 2, 3, -1, 0, 2};
  const auto seen = runner.floats(
      losses, {{"logits", floats(Shape{1, 2, 3}, rows)}, {"labels", floats(Shape{1, 2, 3}, {0, 0.5f, 0.5f, 1, 0, 0})}});
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_NEAR(seen[0], (cross_entropy(&rows[0], 3, 1) + cross_entropy(&rows[0], 3, 2)) / 2, 1e-6);
  EXPECT_NEAR(seen[1], cross_entropy(&rows[3], 3, 0), 1e-6);
}

TEST_F(Losses, SigmoidCrossEntropyAgreesWithDoublePrecision) {
  const Value logits = graph_.input("logits", DType::kFloat32, {batch_});
  const Value labels = graph_.input("labels", DType::kFloat32, {batch_});
  const Value losses = sigmoid_cross_entropy({.labels = labels, .logits = logits});
  const Value smoothed = sigmoid_cross_entropy({.labels = labels, .logits = logits}, {.label_smoothing = 0.1});
  const Value whole = sigmoid_cross_entropy({.labels = ops::cast(labels, DType::kInt64), .logits = logits});
  GraphRunner runner(graph_, {{"batch", 5}});
  const std::vector<float> x{0, 2, -3, 200, -200}, z{1, 0, 1, 0, 0};
  const Feeds feeds{{"logits", floats(Shape{5}, x)}, {"labels", floats(Shape{5}, z)}};
  auto exact = [](double logit, double label) {
    return std::max(logit, 0.0) - logit * label + std::log1p(std::exp(-std::fabs(logit)));
  };
  const auto seen = runner.floats(losses, feeds), seen_smoothed = runner.floats(smoothed, feeds);
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_NEAR(seen[i], exact(x[i], z[i]), 1e-6 * (1 + exact(x[i], z[i]))) << i;
    EXPECT_NEAR(seen_smoothed[i], exact(x[i], 0.9 * z[i] + 0.05), 1e-5 * (1 + std::fabs(x[i]))) << i;
  }
  EXPECT_EQ(runner.floats(whole, feeds), seen);
}

TEST_F(Losses, ErrorsOfNumbersFollowTheirDefinitions) {
  const Value x = graph_.input("x", DType::kFloat32, {batch_}), y = graph_.input("y", DType::kFloat32, {batch_});
  const std::vector<float> predictions{1, -2, 0.5f, 4, 2}, labels{0.75f, -2, 3, 1, 0};
  const Value absolute = absolute_error({.labels = y, .predictions = x}),
              huber = huber_loss({.labels = y, .predictions = x}, {.delta = 1.5}),
              poisson = poisson_loss({.labels = y, .log_rates = x});
  GraphRunner runner(graph_, {{"batch", 5}});
  const Feeds feeds{{"x", floats(Shape{5}, predictions)}, {"y", floats(Shape{5}, labels)}};
  const auto seen_absolute = runner.floats(absolute, feeds), seen_huber = runner.floats(huber, feeds),
             seen_poisson = runner.floats(poisson, feeds);
  const auto huber_slopes = runner.floats(gradients(ops::reduce_sum(huber), {x}).at(0), feeds);
  for (size_t i = 0; i < labels.size(); ++i) {
    const double error = double(predictions[i]) - labels[i], size = std::fabs(error);
    EXPECT_NEAR(seen_absolute[i], size, 1e-6) << i;
    EXPECT_NEAR(seen_huber[i], size <= 1.5 ? error * error / 2 : 1.5 * (size - 0.75), 1e-6) << i;
    EXPECT_NEAR(huber_slopes[i], std::clamp(error, -1.5, 1.5), 1e-6) << i;
    EXPECT_NEAR(seen_poisson[i], std::exp(double(predictions[i])) - labels[i] * double(predictions[i]), 1e-5) << i;
  }
}

TEST_F(Losses, ReductionDividesByTheNumberOfLossesNotByTheirWeights) {
  // The second worked example of CONTRACT HD-8.
  const Value losses = graph_.input("losses", DType::kFloat32, {batch_});
  const Value weights = graph_.input("weights", DType::kInt64, {batch_});
  const Value over_batch = reduce_loss(losses, {.weights = weights});
  const Value sum = reduce_loss(losses, {.weights = weights, .reduction = LossReduction::kSum});
  GraphRunner runner(graph_, {{"batch", 2}});
  const Feeds feeds{{"losses", floats(Shape{2}, {4, 9})}, {"weights", Tensor::of<int64_t>(Shape{2}, {2, 1})}};
  EXPECT_FLOAT_EQ(runner.number(over_batch, feeds), 8.5f);
  EXPECT_FLOAT_EQ(runner.number(sum, feeds), 17);
}

TEST_F(Losses, RefuseWhatDoesNotFit) {
  const Value logits = graph_.input("logits", DType::kFloat32, {batch_, 3});
  const Value labels = graph_.input("labels", DType::kInt64, {batch_});
  const Value others = graph_.input("others", DType::kInt64, {Dim::symbol("other")});
  const Value reals = graph_.input("reals", DType::kFloat32, {batch_});
  EXPECT_THAT(raised([&] { softmax_cross_entropy({.labels = labels, .logits = labels}); }),
              HasSubstr("expected float32 logits"));
  EXPECT_THAT(raised([&] { softmax_cross_entropy({.labels = labels, .logits = Value()}); }), HasSubstr("got no value"));
  EXPECT_THAT(raised([&] { softmax_cross_entropy({.labels = others, .logits = logits}); }),
              HasSubstr("labels have shape [other], logits [batch, 3]; expected labels of shape [batch] or [batch, 1]"));
  EXPECT_THAT(raised([&] { squared_error({.labels = reals, .predictions = logits}); }),
              HasSubstr("squared_error: labels have shape [batch], predictions [batch, 3]; they must be equal"));
  EXPECT_THAT(raised([&] {
                squared_error({.labels = graph_.input("column", DType::kFloat32, {batch_, 1}), .predictions = reals});
              }),
              HasSubstr("labels have shape [batch, 1], predictions [batch]; they must be equal"));
  EXPECT_THAT(raised([&] { softmax_cross_entropy({.labels = labels, .logits = logits}, {.label_smoothing = 1}); }),
              HasSubstr("softmax_cross_entropy: label_smoothing is 1.000000, expected a number in [0, 1)"));
  EXPECT_THAT(raised([&] { sigmoid_cross_entropy({.labels = logits, .logits = logits}, {.label_smoothing = -0.5}); }),
              HasSubstr("sigmoid_cross_entropy: label_smoothing is -0.500000, expected a number in [0, 1)"));
  EXPECT_THAT(raised([&] { sigmoid_cross_entropy({.labels = reals, .logits = logits}); }),
              HasSubstr("sigmoid_cross_entropy: labels have shape [batch], logits [batch, 3]; they must be equal"));
  EXPECT_THAT(
      raised([&] {
        softmax_cross_entropy({.labels = labels, .logits = graph_.input("sequences", DType::kFloat32, {batch_, 7, 3})});
      }),
      HasSubstr("labels have shape [batch], logits [batch, 7, 3]; expected labels of shape [batch, 7]"));
  EXPECT_THAT(raised([&] { absolute_error({.labels = reals, .predictions = Value()}); }),
              HasSubstr("absolute_error: predictions are no value of a graph"));
  EXPECT_THAT(raised([&] { huber_loss({.labels = reals, .predictions = reals}, {.delta = 0}); }),
              HasSubstr("huber_loss: delta is 0.000000"));
  EXPECT_THAT(raised([&] { poisson_loss({.labels = logits, .log_rates = reals}); }),
              HasSubstr("poisson_loss: labels have shape [batch, 3], log_rates [batch]; they must be equal"));
  EXPECT_THAT(raised([&] { reduce_loss(reals, {.weights = others}); }), HasSubstr("weights have shape [other]"));
  EXPECT_THAT(raised([&] { reduce_loss(logits, {.weights = reals}); }), HasSubstr("losses have shape [batch, 3]"));
  EXPECT_THAT(raised([&] { reduce_loss(reals, {.weights = {}, .reduction = LossReduction(7)}); }),
              HasSubstr("unknown reduction 7"));
}

TEST_F(Losses, ReductionsHaveNamesAndNoneIsRefused) {
  EXPECT_EQ(value_or_raise(parse_loss_reduction("sum")), LossReduction::kSum);
  EXPECT_EQ(value_or_raise(parse_loss_reduction("sum_over_batch_size")), LossReduction::kSumOverBatchSize);
  EXPECT_THAT(parse_loss_reduction("none").error().message(), HasSubstr("\"none\" is refused"));
  EXPECT_THAT(parse_loss_reduction("mean").error().message(), HasSubstr("there are: sum_over_batch_size, sum"));
}

}  // namespace
}  // namespace shoal::nn
