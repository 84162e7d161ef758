// SPDX-License-Identifier: Apache-2.0
#include "shoal/nn/embedding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "graph_runner.h"
#include "shoal/graph/ops.h"
#include "shoal/nn/dense.h"
#include "shoal/nn/optimizers.h"

namespace shoal::nn {
namespace {

using testing::HasSubstr;

class Embedding : public testing::Test {
 protected:
  Value ids(const std::string& name = "ids") { return graph_.input(name, DType::kInt64, {Dim::symbol("batch")}); }
  static Feeds feed(std::vector<int64_t> ids) {
    const auto count = int64_t(ids.size());
    return {{"ids", Tensor::of<int64_t>({count}, std::span<const int64_t>(ids))}};
  }
  Graph graph_{3};
};

TEST_F(Embedding, LooksRowsUp) {
  const Value y = embedding(ids(), {.ids = 5, .dimension = 3});
  EXPECT_EQ(y.shape(), (DimShape{Dim::symbol("batch"), 3}));
  ASSERT_EQ(graph_.variables().size(), 1u);
  EXPECT_EQ(graph_.variables()[0].name, "embedding/table");
  EXPECT_EQ(graph_.variables()[0].shape, (Shape{5, 3}));
  GraphRunner runner(graph_, {{"batch", 4}});
  const std::vector<float> rows = runner.floats(y, feed({4, 0, 4, 2}));
  const std::vector<float>& table = runner.variable("embedding/table");
  for (size_t i = 0; i < 4; ++i) {
    const size_t row = std::vector<size_t>{4, 0, 4, 2}[i];
    for (size_t k = 0; k < 3; ++k) EXPECT_EQ(rows[i * 3 + k], table[row * 3 + k]);
  }
}

TEST_F(Embedding, StartsTruncatedNormal) {
  embedding(ids(), {.ids = 2000, .dimension = 16});
  const Initializer initializer = graph_.variables()[0].initializer;
  EXPECT_EQ(initializer.kind, Initializer::Kind::kTruncatedNormal);
  EXPECT_EQ(initializer.b, 0.25);
}

TEST_F(Embedding, RefusesWhatDoesNotFit) {
  const Value x = graph_.input("x", DType::kFloat32, {3});
  EXPECT_EQ(raised([&] { embedding(x, {.ids = 5, .dimension = 3}); }),
            "InvalidArgument: embedding: expected int64 or int32 ids, got float32; cast them first");
  EXPECT_THAT(raised([&] { embedding(ids("a"), {.dimension = 3}); }), HasSubstr("ids is 0, expected 1 or more"));
  EXPECT_THAT(raised([&] { embedding(ids("b"), {.ids = 3}); }), HasSubstr("dimension is 0, expected 1 or more"));
}

TEST_F(Embedding, OnlyLookedUpMeansUpdatesByRows) {
  const Value y = embedding(ids(), {.ids = 5, .dimension = 3});
  const Value loss = ops::reduce_sum(ops::square(dense(y, {.units = 2})));
  const TrainOp op = sgd().minimize(loss);
  ASSERT_EQ(op.updates.size(), 3u);
  EXPECT_EQ(op.updates[0].variable, "embedding/table");
  EXPECT_FALSE(op.updates[0].update.valid());
  ASSERT_EQ(op.updates[0].rows.size(), 1u);
  EXPECT_EQ(op.updates[0].rows[0].ids, graph_.find("ids"));
  EXPECT_EQ(op.updates[0].rows[0].gradients.shape(), y.shape());
  EXPECT_TRUE(op.updates[1].update.valid());
  EXPECT_TRUE(op.updates[1].rows.empty());
}

TEST_F(Embedding, AnotherUseMeansWholeUpdates) {
  const Value table = graph_.variable("table", {4, 2});
  const Value looked_up = ops::embedding_lookup(table, ids());
  // A tied output layer uses the whole table; a use beside the loss does not count.
  const Value beside = ops::reduce_sum(table);
  const Value loss = ops::reduce_sum(ops::square(ops::matmul(looked_up, table, {.transpose_b = true})));
  const TrainOp tied = sgd().minimize(loss);
  ASSERT_EQ(tied.updates.size(), 1u);
  EXPECT_TRUE(tied.updates[0].update.valid());
  const TrainOp alone = sgd().minimize(ops::reduce_sum(ops::square(looked_up)));
  ASSERT_EQ(alone.updates.size(), 1u);
  EXPECT_EQ(alone.updates[0].rows.size(), 1u);
  EXPECT_TRUE(beside.valid());
}

TEST_F(Embedding, ClippingAndLambNeedTheWholeGradient) {
  const Value loss = ops::reduce_sum(ops::square(embedding(ids(), {.ids = 5, .dimension = 3})));
  for (const Optimizer& optimizer : {lamb(), sgd().clip_by_value(1), sgd().clip_by_norm(1), sgd().clip_by_global_norm(1)}) {
    const TrainOp op = optimizer.minimize(loss);
    ASSERT_EQ(op.updates.size(), 1u);
    EXPECT_TRUE(op.updates[0].update.valid());
    EXPECT_TRUE(op.updates[0].rows.empty());
  }
}

/// The same table once as a variable that is only looked up, and once with a second use that changes nothing.
TEST_F(Embedding, RowsTrainAsTheWholeDoesWhereARuleLeavesZeroGradientsAlone) {
  for (const Optimizer& optimizer : {sgd({.learning_rate = 0.1}), adagrad({.learning_rate = 0.1})}) {
    Graph graph(7);
    const Value input = graph.input("ids", DType::kInt64, {4});
    const VariableOptions options{.initializer = normal(0, 1).resolve({})};
    const Value a = graph.variable("a", {6, 3}, options), b = graph.variable("b", {6, 3}, options);
    const Value by_rows = ops::reduce_sum(ops::square(ops::embedding_lookup(a, input)));
    const Value whole = ops::reduce_sum(ops::square(ops::embedding_lookup(b, input))) + ops::reduce_sum(b) * 0.0;
    const TrainOp op = optimizer.minimize(by_rows + whole);
    ASSERT_EQ(op.updates[0].rows.size(), 1u);
    ASSERT_TRUE(op.updates[1].update.valid());
    GraphRunner runner(graph);
    runner.floats(by_rows, feed({0, 0, 0, 0}));  // This makes the variables.
    runner.variable("b") = runner.variable("a");
    for (const std::vector<int64_t>& batch : {std::vector<int64_t>{1, 1, 3, 1}, {5, 0, 3, 3}, {1, 2, 2, 2}}) {
      runner.train(op, feed(batch));
    }
    for (size_t i = 0; i < 18; ++i) EXPECT_NEAR(runner.variable("a")[i], runner.variable("b")[i], 1e-6) << i;
  }
}

TEST_F(Embedding, SeveralLookupsOfOneTableAddUp) {
  const Value table = graph_.variable("table", {4, 1}, {.initializer = constant(1).resolve({})});
  const Value first = ops::embedding_lookup(table, ids()), second = ops::embedding_lookup(table, ids("other"));
  const TrainOp op = sgd({.learning_rate = 0.25}).minimize(ops::reduce_sum(first) + ops::reduce_sum(second) * 2.0);
  ASSERT_EQ(op.updates.size(), 1u);
  ASSERT_EQ(op.updates[0].rows.size(), 2u);
  GraphRunner runner(graph_, {{"batch", 2}});
  runner.train(op, {{"ids", Tensor::of<int64_t>({2}, {1, 3})}, {"other", Tensor::of<int64_t>({2}, {3, 3})}});
  EXPECT_EQ(runner.variable("table"), (std::vector<float>{1, 0.75f, 1, 1 - 0.25f * 5}));
}

TEST_F(Embedding, UntouchedRowsDoNotMoveOn) {
  const Value table = graph_.variable("table", {3, 1});
  const TrainOp op =
      sgd({.learning_rate = 1, .momentum = 0.5}).minimize(ops::reduce_sum(ops::embedding_lookup(table, ids())));
  GraphRunner runner(graph_, {{"batch", 1}});
  runner.train(op, feed({0}));
  runner.train(op, feed({1}));
  runner.train(op, feed({0}));
  EXPECT_EQ(runner.variable("table"), (std::vector<float>{-1 - 1.5f, -1, 0}));
}

TEST_F(Embedding, TrainOpRefusesRowsThatDoNotFit) {
  const Value table = graph_.variable("table", {4, 2});
  const Value input = ids();
  const Value wide = graph_.input("wide", DType::kFloat32, {Dim::symbol("batch"), 3});
  const Value fits = graph_.input("fits", DType::kFloat32, {Dim::symbol("batch"), 2});
  const UpdateRule rule{.kind = UpdateRule::Kind::kSgd};
  const std::vector<StepScalar> scalars{{"learning_rate", [](uint64_t) { return 0.1; }}};
  auto refusal = [&](VariableUpdate update) {
    return raised([&] { train_op({.updates = {update}, .scalars = scalars}); });
  };
  EXPECT_EQ(refusal({.variable = "table", .update = {}, .rule = rule, .rows = {{input, fits}}}), "");
  EXPECT_EQ(
      refusal({.variable = "table", .update = {}, .rule = rule, .rows = {{input, wide}}}),
      "InvalidArgument: train_op: update of table: ids int64 [batch] and rows [batch, 3] do not fit the variable [4, 2]");
  EXPECT_EQ(refusal({.variable = "table", .update = {}, .rule = rule, .rows = {{fits, fits}}}),
            "InvalidArgument: train_op: update of table: ids float32 [batch, 2] and rows [batch, 2] do not fit the "
            "variable [4, 2]");
  EXPECT_EQ(refusal({.variable = "table", .update = table, .rule = rule, .rows = {{input, fits}}}),
            "InvalidArgument: train_op: update of table: comes whole and by rows; it can be one of them");
  EXPECT_EQ(
      refusal({.variable = "table", .update = {}, .rule = {.kind = UpdateRule::Kind::kAssign}, .rows = {{input, fits}}}),
      "InvalidArgument: train_op: update of table: comes by rows, which the rule assign does not take");
  const UpdateRule of_lamb{.kind = UpdateRule::Kind::kLamb, .constants = {0.9, 0.999, 1e-6, 0.01}};
  EXPECT_EQ(refusal({.variable = "table", .update = {}, .rule = of_lamb, .rows = {{input, fits}}}),
            "InvalidArgument: train_op: update of table: comes by rows, which the rule lamb does not take");
}

}  // namespace
}  // namespace shoal::nn
