// SPDX-License-Identifier: Apache-2.0
/// Convolutions and their gradients of drawn sizes, strides, borders, dilations and groups are what the reference computes, also where
/// numbers are infinite, and have the same bits on any number of threads.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "../backends/run_graph.h"
#include "shoal/base/random.h"
#include "shoal/graph/ops.h"

namespace shoal::backends::testing {
namespace {

constexpr float kInfinite = std::numeric_limits<float>::infinity();

struct Drawn {
  Shape x, kernel;
  ops::Conv2dOptions options;

  explicit Drawn(RandomStream& random) {
    const auto up_to = [&](uint64_t most) { return int64_t(1 + random.below(most)); };
    const uint64_t kind = random.below(5);  // Depthwise, in two groups, or in one.
    const int64_t groups = kind == 0 ? 1 + up_to(40) : kind == 1 ? 2 : 1;
    const int64_t channels = kind == 0 ? 1 : kind == 1 ? 8 * up_to(2) : up_to(20);
    const int64_t filters = kind == 0 ? 1 : kind == 1 ? 8 * up_to(2) : random.below(4) == 0 ? 16 : up_to(40);
    kernel = {filters * groups, channels, up_to(4), up_to(5)};
    options = {.strides = {up_to(3), up_to(3)}, .dilations = {up_to(3), up_to(3)}, .groups = groups};
    const int64_t high = (kernel[2] - 1) * options.dilations[0] + 1, wide = (kernel[3] - 1) * options.dilations[1] + 1;
    const auto border = [&](int64_t window) { return random.below(2) == 0 ? 0 : int64_t(random.below(uint64_t(window))); };
    const int64_t top = border(high), bottom = border(high), left = border(wide), right = border(wide);
    options.padding = Padding::explicit_sizes(top, bottom, left, right);
    // As large as a window, less what the border gives, and some more.
    x = {up_to(3), std::max<int64_t>(1, high - top - bottom) + up_to(12),
         std::max<int64_t>(1, wide - left - right) + up_to(random.below(10) == 0 ? 700 : 20), channels * groups};
  }
  std::string text() const {
    std::string text = "x " + to_string(x) + ", kernel " + to_string(kernel) + ", groups " + std::to_string(options.groups);
    for (int i = 0; i < 2; ++i) {
      text += ", stride " + std::to_string(options.strides[size_t(i)]) + ", dilation " +
              std::to_string(options.dilations[size_t(i)]);
    }
    return text;
  }
};

/// The elements are small whole numbers, whose sums are exact in any order. If `hostile`, one of them is infinite or no number.
Tensor whole_numbers(const Shape& shape, uint64_t seed, bool hostile) {
  Tensor tensor(DType::kFloat32, shape);
  RandomStream random(seed);
  const auto values = tensor.mutable_as<float>();
  for (float& value : values) value = float(int64_t(random.below(9)) - 4);
  if (hostile) {
    values[size_t(random.below(values.size()))] = random.below(2) == 0 ? kInfinite : std::nanf("");
  }
  return tensor;
}

struct Case {
  Graph graph;
  std::vector<Value> fetches;
  Feeds feeds;

  /// hostile: which operand has a number that is not finite (0 none, 1 the image, 2 the filters, 3 the gradient).
  Case(const Drawn& drawn, uint64_t seed, uint64_t hostile) {
    const Value x = graph.input("x", DType::kFloat32, drawn.x), kernel = graph.variable("kernel", drawn.kernel);
    const Value bias = graph.variable("bias", {drawn.kernel[0]});
    const Value y = ops::conv2d(x, kernel, bias, drawn.options);
    const Shape out = value_or_raise(y.shape().resolve({}));
    const Value dy = graph.input("dy", DType::kFloat32, out);
    const Attributes attributes = graph.node(y.node()).attributes;
    fetches = {y, ops::relu(ops::conv2d(x, kernel, Value(), drawn.options)),
               graph.add("conv2d_grad_input", {dy, kernel, x}, attributes)[0],
               graph.add("conv2d_grad_kernel", {dy, x, kernel}, attributes)[0]};
    feeds = {{"x", whole_numbers(drawn.x, seed, hostile == 1)},
             {"kernel", whole_numbers(drawn.kernel, seed + 1, hostile == 2)},
             {"bias", whole_numbers({drawn.kernel[0]}, seed + 2, false)},
             {"dy", whole_numbers(out, seed + 3, hostile == 3)}};
  }
  std::vector<Tensor> run(Backend& backend, int threads) const {
    Runner runner = value_or_raise(Runner::make(backend, graph, {.fetches = fetches, .threads = threads}));
    value_or_raise(runner.run(feeds));
    std::vector<Tensor> results;
    for (size_t i = 0; i < fetches.size(); ++i) results.push_back(runner.fetched(i));
    return results;
  }
};

TEST(Convolutions, OfDrawnSizesAreWhatTheReferenceComputes) {
  const auto portable = backend_or_die("portable"), reference = backend_or_die("reference");
  RandomStream random(17);
  for (uint64_t round = 0; round < 300; ++round) {
    const Drawn drawn(random);
    const uint64_t hostile = round % 2 == 0 ? 0 : 1 + round / 2 % 3;
    SCOPED_TRACE(drawn.text() + ", hostile " + std::to_string(hostile));
    const Case one(drawn, 10 * round, hostile);
    const auto expected = one.run(*reference, 1), actual = one.run(*portable, 1), on_three = one.run(*portable, 3);
    for (size_t i = 0; i < expected.size(); ++i) {
      const auto e = expected[i].as<float>(), a = actual[i].as<float>();
      for (size_t k = 0; k < e.size(); ++k) {
        ASSERT_TRUE(a[k] == e[k] || (std::isnan(a[k]) && std::isnan(e[k])))
            << "value " << i << ", element " << k << ": " << a[k] << ", expected " << e[k];
      }
      ASSERT_TRUE(same_bits(actual[i], on_three[i])) << "value " << i;
    }
  }
}

}  // namespace
}  // namespace shoal::backends::testing
