// SPDX-License-Identifier: Apache-2.0
/// recompute(): the same bits from less memory.
#include "shoal/nn/recompute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "../backends/run_graph.h"
#include "shoal/graph/ops.h"
#include "shoal/graph/passes.h"
#include "shoal/nn/dense.h"
#include "shoal/nn/dropout.h"
#include "shoal/nn/optimizers.h"
#include "shoal/nn/recurrent.h"
#include "shoal/nn/residual.h"
#include "shoal/nn/transformer.h"

namespace shoal::nn {
namespace {

using backends::testing::random_tensor;
using backends::testing::Runner;
using backends::testing::same_bits;

using Model = std::function<Value(Value x, const std::function<Value(Value, const std::function<Value(Value)>&)>& block)>;

/// Three residual blocks, the second of which halves the image, with dropout between them.
Value pictures(Value x, const auto& block) {
  for (const int strides : {1, 2, 1}) {
    x = block(x, [&](Value in) {
      return dropout(residual_block(in, Mode::kTrain, {.filters = 6, .strides = strides}), Mode::kTrain, {.rate = 0.3});
    });
  }
  return ops::reduce_mean(ops::square(dense(ops::flatten(x), {.units = 3})));
}

Value sequences(Value x, const auto& block) {
  x = block(x, [&](Value in) { return lstm(in, {.units = 8}).sequence; });
  for (int i = 0; i < 2; ++i) {
    x = block(x, [&](Value in) {
      return transformer_block(in, Mode::kTrain, {.heads = 2, .feed_forward_units = 16, .dropout = 0.2, .causal = true});
    });
  }
  return ops::reduce_mean(ops::square(x));
}

struct Step {
  std::vector<std::string> variables;
  std::vector<Tensor> results;  // The loss, then what follows each variable.
  size_t arena_bytes = 0;
  int kernels = 0;
};

/// One training step: the loss, the gradients and the new moving averages.
Step step_of(const std::string& backend_name, const DimShape& input, const Model& model, bool recomputes) {
  Graph graph{RandomKey{5}};
  const Value x = graph.input("x", DType::kFloat32, input);
  const Value loss = model(
      x, [&](Value in, const std::function<Value(Value)>& block) { return recomputes ? recompute(in, block) : block(in); });
  const TrainOp train = sgd().minimize(loss);
  const SymbolSizes sizes{{"batch", 4}};
  backends::testing::Feeds feeds{{"x", random_tensor(value_or_raise(input.resolve(sizes)), 1)}};
  Step step;
  for (const Variable& variable : graph.variables()) {
    step.variables.push_back(variable.name);
    feeds.emplace(variable.name, random_tensor(variable.shape, 2 + feeds.size()));
  }
  backends::CompileOptions options{.sizes = sizes, .fetches = {loss}};
  for (const VariableUpdate& update : train.updates) options.updates.push_back(update.update);
  const auto backend = backends::testing::backend_or_die(backend_name);
  Runner runner = value_or_raise(Runner::make(*backend, graph, options));
  value_or_raise(runner.run(feeds, {.trainer = 0, .ordinal = 7}));
  step.results.push_back(runner.fetched(0));
  for (size_t i = 0; i < options.updates.size(); ++i) step.results.push_back(runner.update(i));
  step.arena_bytes = runner.info().arena_bytes;
  step.kernels = int(runner.info().kernels.size());
  return step;
}

class Recompute : public ::testing::TestWithParam<std::string> {
 protected:
  void expect_same(const DimShape& input, const Model& model) {
    const Step kept = step_of(GetParam(), input, model, false), again = step_of(GetParam(), input, model, true);
    EXPECT_EQ(again.variables, kept.variables);
    ASSERT_EQ(again.results.size(), kept.results.size());
    for (size_t i = 0; i < kept.results.size(); ++i) EXPECT_TRUE(same_bits(again.results[i], kept.results[i])) << i;
    EXPECT_GT(again.kernels, kept.kernels);
    EXPECT_LT(again.arena_bytes, kept.arena_bytes);
  }
};

std::vector<std::string> backends_of_build() {
  std::vector<std::string> names;
  for (const char* name : {"reference", "portable", "onednn"}) {
    if (backends::make_backend(name)) names.emplace_back(name);
  }
  return names;
}
INSTANTIATE_TEST_SUITE_P(Backends, Recompute, ::testing::ValuesIn(backends_of_build()),
                         [](const auto& chosen) { return chosen.param; });

TEST_P(Recompute, ResidualBlocksWithDropout) {
  expect_same({Dim::symbol("batch"), 8, 8, 6}, [](Value x, const auto& block) { return pictures(x, block); });
}

TEST_P(Recompute, SequencesWithDropout) {
  expect_same({Dim::symbol("batch"), 6, 8}, [](Value x, const auto& block) { return sequences(x, block); });
}

class RecomputedGraph : public ::testing::Test {
 protected:
  std::vector<std::string> computed(std::vector<Value> fetches) {
    std::vector<std::string> names;
    for (const FlowNode& node : value_or_raise(simplify(graph_, fetches, {})).nodes) names.push_back(node.node.op);
    return names;
  }
  int64_t count(const std::vector<std::string>& names, std::string_view name) { return std::ranges::count(names, name); }

  Graph graph_{RandomKey{0}};
  Value x_ = graph_.input("x", DType::kFloat32, {3});
};

TEST_F(RecomputedGraph, InnerValuesAreComputedTwiceAndNoOthers) {
  const Value y = recompute(x_, [](Value x) { return ops::exp(ops::tanh(ops::sigmoid(x))); });
  EXPECT_EQ(count(computed({y}), "sigmoid"), 1) << "without gradients nothing is computed again";
  const Value loss = ops::reduce_sum(ops::square(y));
  const auto names = computed({loss, gradients(loss, {x_})[0]});
  EXPECT_EQ(count(names, "recompute_from"), 1);
  EXPECT_EQ(count(names, "sigmoid"), 2);
  EXPECT_EQ(count(names, "tanh"), 2);
  EXPECT_EQ(count(names, "exp"), 1) << "its result is kept for what comes after the block";
}

TEST_F(RecomputedGraph, AValueThatIsUsedOutsideIsKept) {
  Value inner;
  const Value y = recompute(x_, [&](Value x) { return ops::exp(ops::tanh(inner = ops::sigmoid(x))); });
  const Value loss = ops::reduce_sum(y * inner);
  const auto names = computed({loss, gradients(loss, {x_})[0]});
  EXPECT_EQ(count(names, "sigmoid"), 1);
  EXPECT_EQ(count(names, "tanh"), 2);
}

TEST_F(RecomputedGraph, OneOfTwoGradientsRecomputes) {
  const Value y = recompute(x_, [](Value x) { return ops::exp(ops::tanh(ops::sigmoid(x))); });
  const Value loss = ops::reduce_sum(ops::square(y)), other = ops::reduce_sum(y);
  const auto names = computed({gradients(loss, {x_})[0], gradients(other, {x_})[0]});
  EXPECT_EQ(count(names, "sigmoid"), 2) << "what both compute again is computed again once";
}

TEST_F(RecomputedGraph, ABlockWithinABlockIsAPartOfIt) {
  const Value y = recompute(x_, [](Value x) {
    x = recompute(ops::sigmoid(x), [](Value z) { return ops::tanh(ops::tanh(z)); });
    return ops::exp(ops::sigmoid(x));
  });
  EXPECT_EQ(graph_.recomputed_part_of(y.node()), 0);
  EXPECT_EQ(graph_.recomputed_part_of(x_.node()), -1);
  const Value loss = ops::reduce_sum(ops::square(y));
  EXPECT_EQ(graph_.recomputed_part_of(loss.node()), -1);
  const auto names = computed({loss, gradients(loss, {x_})[0]});
  EXPECT_EQ(count(names, "recompute_from"), 1);
  EXPECT_EQ(count(names, "sigmoid"), 4);
  EXPECT_EQ(count(names, "tanh"), 4);
}

TEST_F(RecomputedGraph, ABlockThatThrowsEndsItsPart) {
  EXPECT_THROW(recompute(x_, [](Value x) -> Value { return ops::matmul(ops::square(x), x); }), Exception);
  EXPECT_EQ(graph_.recomputed_part_of(ops::exp(x_).node()), -1);
  EXPECT_THROW(recompute(x_, nullptr), Exception);
  EXPECT_THROW(recompute(Value(), [](Value x) { return x; }), Exception);
}

}  // namespace
}  // namespace shoal::nn
