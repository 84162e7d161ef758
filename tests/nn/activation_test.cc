// SPDX-License-Identifier: Apache-2.0
#include "shoal/nn/activation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "graph_runner.h"

namespace shoal::nn {
namespace {

using testing::HasSubstr;

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

TEST(Activations, AreTheirFunctions) {
  const std::vector<std::pair<Activation, std::function<double(double)>>> functions{
      {Activation::kNone, [](double x) { return x; }},
      {Activation::kRelu, [](double x) { return x > 0 ? x : 0.0; }},
      {Activation::kSigmoid, sigmoid_of},
      {Activation::kTanh, [](double x) { return std::tanh(x); }},
      {Activation::kSoftplus, [](double x) { return std::log(1 + std::exp(x)); }},
      {Activation::kLeakyRelu, [](double x) { return x > 0 ? x : 0.01 * x; }},
      {Activation::kElu, [](double x) { return x > 0 ? x : std::exp(x) - 1; }},
      {Activation::kGelu, [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }},
      {Activation::kGeluTanh,
       [](double x) { return x / 2 * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x))); }},
      {Activation::kSilu, [](double x) { return x * sigmoid_of(x); }}};
  Graph graph;
  const Value x = graph.input("x", DType::kFloat32, {7});
  GraphRunner runner(graph);
  const std::vector<float> points{-3, -1, -0.25f, 0, 0.5f, 1, 4};
  const Feeds feeds{{"x", Tensor::of<float>({7}, std::span<const float>(points))}};
  for (const auto& [activation, function] : functions) {
    const auto seen = runner.floats(activate(x, activation), feeds);
    for (size_t i = 0; i < points.size(); ++i) {
      EXPECT_NEAR(seen[i], function(points[i]), 1e-6) << "activation " << int(activation) << " of " << points[i];
    }
  }
}

TEST(Activations, OneOfNoKindIsRefused) {
  Graph graph;
  const Value x = graph.input("x", DType::kFloat32, {7});
  EXPECT_THAT(raised([&] { activate(x, Activation(77)); }), HasSubstr("InvalidArgument: unknown activation 77"));
  EXPECT_THAT(raised([&] { leaky_relu(x, -1); }), HasSubstr("alpha is -1.000000; it must be a finite number >= 0"));
  EXPECT_THAT(raised([&] { elu(x, std::nan("")); }), HasSubstr("alpha is nan; it must be a finite number >= 0"));
}

}  // namespace
}  // namespace shoal::nn
