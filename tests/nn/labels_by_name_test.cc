// SPDX-License-Identifier: Apache-2.0
// Losses and metrics take labels and what is compared with them by name: neither order of two bare values compiles.
#include <gtest/gtest.h>

#include <cmath>
#include <type_traits>

#include "graph_runner.h"
#include "shoal/graph/ops.h"
#include "shoal/nn/binary_metrics.h"
#include "shoal/nn/head.h"
#include "shoal/nn/losses.h"
#include "shoal/nn/regression_metrics.h"

namespace shoal::nn {
namespace {

/// Whether two bare values are taken, with or without options; F is a function.
template <class F, class... Options>
constexpr bool takes_bare_values = std::is_invocable_v<F, Value, Value> || std::is_invocable_v<F, Value, Value, Options...>;

static_assert(!takes_bare_values<decltype(softmax_cross_entropy), CrossEntropyOptions>);
static_assert(!takes_bare_values<decltype(sigmoid_cross_entropy), CrossEntropyOptions>);
static_assert(!takes_bare_values<decltype(squared_error)>);
static_assert(!takes_bare_values<decltype(absolute_error)>);
static_assert(!takes_bare_values<decltype(huber_loss), HuberOptions>);
static_assert(!takes_bare_values<decltype(poisson_loss), PoissonLossOptions>);
static_assert(!takes_bare_values<decltype(mean), Value>);  // Its second value, the weights, has a name as well.
static_assert(!takes_bare_values<decltype(accuracy), Value>);
static_assert(!takes_bare_values<decltype(top_k_accuracy), int64_t>);
static_assert(!takes_bare_values<decltype(confusion_matrix), int64_t>);
static_assert(!takes_bare_values<decltype(binary_accuracy), BinaryMetricOptions>);
static_assert(!takes_bare_values<decltype(precision), BinaryMetricOptions>);
static_assert(!takes_bare_values<decltype(recall), BinaryMetricOptions>);
static_assert(!takes_bare_values<decltype(accuracy_baseline), Value>);
constexpr auto kAuc = [](auto... values) -> decltype(auc(values...)) { return auc(values...); };
static_assert(!takes_bare_values<decltype(kAuc), Value>);
constexpr auto kPrecisionRecall = [](auto... values) -> decltype(auc_precision_recall(values...)) {
  return auc_precision_recall(values...);
};
static_assert(!takes_bare_values<decltype(kPrecisionRecall), Value>);
static_assert(std::is_invocable_v<decltype(kAuc), LabelsAndPredictions>);
static_assert(std::is_invocable_v<decltype(kAuc), LabelsAndLogits>);
static_assert(!takes_bare_values<decltype(mean_absolute_error), Value>);
static_assert(!takes_bare_values<decltype(root_mean_squared_error), Value>);
static_assert(!takes_bare_values<decltype(r_squared), Value>);
static_assert(!std::is_constructible_v<decltype(RegressionHeadOptions::loss), Value (*)(Value, Value)>);

// The ops are overloaded, so they are tried as calls. Braces around bare values do not help either.
template <class V>
concept OpsTakeBareValues = requires(V v) {
  ops::softmax_cross_entropy(v, v);
}
|| requires(V v) { ops::sigmoid_cross_entropy(v, v); };
template <class V>
concept BracesTakeBareValues = requires(V v) {
  squared_error({v, v});
}
|| requires(V v) { accuracy({v, v}); }
|| requires(V v) { auc({v, v}); }
|| requires(V v) { auc_precision_recall({v, v}); }
|| requires(V v) { softmax_cross_entropy({v, v}); }
|| requires(V v) { poisson_loss({v, v}); }
|| requires(V v) { ops::softmax_cross_entropy({v, v}); };
template <class V>
concept NamesCompile = requires(V v) {
  squared_error({.labels = v, .predictions = v});
  accuracy({.labels = v, .predictions = v}, {.weights = v});
  auc({.labels = v, .predictions = v});
  auc({.labels = v, .logits = v}, {.weights = v});
  softmax_cross_entropy({.labels = v, .logits = v}, {.label_smoothing = 0.1});
  ops::sigmoid_cross_entropy({.labels = v, .logits = v}, "name");
};
static_assert(!OpsTakeBareValues<Value> && !BracesTakeBareValues<Value> && NamesCompile<Value>);

/// The names say which is which: of an asymmetric loss, a swap would show.
TEST(LabelsByName, AreWhatTheirNamesSay) {
  Graph graph;
  const Value two = graph.constant(Tensor::of<float>(Shape{1}, {2})),
              half = graph.constant(Tensor::of<float>(Shape{1}, {0.5f}));
  const Value losses = poisson_loss({.labels = two, .log_rates = half});
  EXPECT_FLOAT_EQ(GraphRunner(graph).number(losses), std::exp(0.5f) - 1);
}

}  // namespace
}  // namespace shoal::nn
