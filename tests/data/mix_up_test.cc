// SPDX-License-Identifier: Apache-2.0
// Mixtures of examples.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "image_files.h"
#include "shoal/data/augment.h"

namespace shoal::data {
namespace {

/// Lambdas of batches of two examples that were exchanged: the label of the first says what it has of itself.
std::vector<double> lambdas(double alpha, int count) {
  const Element batch{Tensor::of<float>(Shape{2, 1}, {0, 1}), Tensor::of<float>(Shape{2, 2}, {1, 0, 0, 1})};
  std::vector<double> all;
  for (RandomKey key = 0; int(all.size()) < count; ++key) {
    RandomStream random(key);
    const Element mixed = mix_up(batch, {.alpha = alpha}, random);
    const auto labels = mixed.labels.single().as<float>();
    EXPECT_FLOAT_EQ(labels[0] + labels[1], 1);
    EXPECT_FLOAT_EQ(mixed.features.single().as<float>()[0], labels[1]);
    EXPECT_FLOAT_EQ(mixed.features.single().as<float>()[1], labels[3]);
    EXPECT_EQ(labels[0], labels[3]);
    // An example that is mixed with itself says nothing of lambda. For a large alpha no lambda is nearly 1.
    if (labels[0] < 1 || alpha < 0.5) all.push_back(double(labels[0]));
  }
  std::sort(all.begin(), all.end());
  return all;
}

/// The largest distance between the share of numbers up to x and a distribution function (Kolmogorov, Smirnov).
double distance_from(const std::vector<double>& sorted, double (*distribution)(double)) {
  double largest = 0;
  for (size_t i = 0; i < sorted.size(); ++i) {
    largest = std::max(largest, std::abs(double(i + 1) / double(sorted.size()) - distribution(sorted[i])));
  }
  return largest;
}

TEST(MixUp, DrawsLambdaFromBeta) {
  constexpr int kCount = 4000;
  const double bound = 1.95 / std::sqrt(double(kCount));  // One in a thousand right samples is further away.
  EXPECT_LT(distance_from(lambdas(1, kCount), [](double x) { return x; }), bound);
  EXPECT_LT(distance_from(lambdas(2, kCount), [](double x) { return x * x * (3 - 2 * x); }), bound);
  EXPECT_LT(distance_from(lambdas(3, kCount), [](double x) { return x * x * x * (10 - 15 * x + 6 * x * x); }), bound);
  EXPECT_LT(distance_from(lambdas(0.5, kCount), [](double x) { return 2 / std::acos(-1.0) * std::asin(std::sqrt(x)); }),
            bound);
  // Small and large ones, by the variance 1 / (4 (2 alpha + 1)).
  for (const double alpha : {30.0, 1e6}) {
    double squares = 0;
    for (const double lambda : lambdas(alpha, kCount)) squares += (lambda - 0.5) * (lambda - 0.5) / kCount;
    EXPECT_NEAR(squares * 4 * (2 * alpha + 1), 1, 0.1) << alpha;
  }
  for (const double lambda : lambdas(1e-6, 100)) EXPECT_TRUE(lambda < 1e-6 || lambda > 1 - 1e-6);
}

TEST(MixUp, MixesEachExampleWithOneOther) {
  Tensor features(DType::kFloat32, Shape{8, 2, 1, 1});
  for (size_t i = 0; i < 16; ++i) features.mutable_as<float>()[i] = float(int64_t(1) << i / 2);
  Tensor classes(DType::kInt64, Shape{8});
  for (size_t i = 0; i < 8; ++i) classes.mutable_as<int64_t>()[i] = int64_t(i);
  const Element batch{features, one_hot(classes, 8)};
  RandomStream random(5), again(5);
  const Element mixed = mix_up(batch, {.alpha = 1}, random);
  EXPECT_EQ(mixed.features.single().shape(), features.shape());
  EXPECT_EQ(mixed.labels.single().shape(), (Shape{8, 8}));
  EXPECT_TRUE(same_bits(mixed.features.single(), mix_up(batch, {.alpha = 1}, again).features.single()));
  const auto labels = mixed.labels.single().as<float>();
  std::vector<double> columns(8, 0);
  for (size_t row = 0; row < 8; ++row) {
    double expected = 0, sum = 0;
    for (size_t i = 0; i < 8; ++i) {
      expected += double(labels[row * 8 + i]) * double(int64_t(1) << i);
      sum += double(labels[row * 8 + i]);
      columns[i] += double(labels[row * 8 + i]);
    }
    EXPECT_NEAR(sum, 1, 1e-6);
    EXPECT_NEAR(mixed.features.single().as<float>()[row * 2], expected, 1e-4);
    EXPECT_EQ(mixed.features.single().as<float>()[row * 2], mixed.features.single().as<float>()[row * 2 + 1]);
  }
  for (const double column : columns) EXPECT_NEAR(column, 1, 1e-6);  // Each example is the other one of exactly one.
}

}  // namespace
}  // namespace shoal::data
