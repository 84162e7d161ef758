// SPDX-License-Identifier: Apache-2.0
/// minimize_by(): optimizers of a user's own, beside Shoal's.
#include "shoal/nn/own_optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph_runner.h"
#include "shoal/graph/ops.h"
#include "shoal/nn/dense.h"
#include "shoal/nn/embedding.h"
#include "shoal/nn/normalization.h"
#include "shoal/nn/optimizers.h"

namespace shoal::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Kind = UpdateRule::Kind;

/// Momentum, as Shoal's SGD has it.
std::vector<VariableUpdate> momentum(const OwnStep& step) {
  const Value m = step.slot("m");
  const Value next = m * 0.9 + step.gradient();
  return {assign(m, next), descend(step.variable(), next)};
}

std::string refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Exception& exception) {
    return exception.what();
  }
  return "accepted";
}

struct TwoWeights {
  Graph graph;
  Value a = graph.variable("a", Shape{2});
  Value b = graph.variable("deep/b", Shape{2});
  Value unused = graph.variable("unused", Shape{2});
  Value fixed = graph.variable("fixed", Shape{2}, {.trainable = false});
  Value loss = ops::reduce_sum(ops::square(a) + ops::square(b) * fixed);
};

TEST(OwnOptimizer, TrainsWhatTheLossDependsOnAndKeepsSlotsBesideIt) {
  TwoWeights model;
  const TrainOp op = minimize_by(model.loss, momentum, {.learning_rate = 0.5});
  std::vector<std::string> names;
  for (const VariableUpdate& update : op.updates) names.push_back(update.variable);
  EXPECT_THAT(names, ElementsAre("a/m", "a", "deep/b/m", "deep/b"));
  EXPECT_EQ(op.updates[0].rule.kind, Kind::kAssign);
  EXPECT_EQ(op.updates[1].rule.kind, Kind::kSgd);
  ASSERT_EQ(op.scalars.size(), 1u);
  EXPECT_EQ(op.scalars[0].at(0), 0.5);
  const Variable* slot = model.graph.find_variable("deep/b/m");
  ASSERT_TRUE(slot);
  EXPECT_FALSE(slot->trainable);
  EXPECT_EQ(slot->shape, Shape{2});
  EXPECT_TRUE(op.advances_global_step);
}

TEST(OwnOptimizer, HasSlotsByNameThatStartWhereItSays) {
  TwoWeights model;
  minimize_by(model.loss, [](const OwnStep& step) -> std::vector<VariableUpdate> {
    const Value s = step.slot("s", 0.25);
    EXPECT_EQ(step.slot("s"), s) << "the same one";
    EXPECT_NE(step.slot("t"), s);
    return {assign(s, ops::square(step.gradient()))};
  });
  EXPECT_EQ(model.graph.find_variable("a/s")->initializer, (Initializer{.kind = Initializer::Kind::kConstant, .a = 0.25}));
}

TEST(OwnOptimizer, TrainsChosenVariablesBesideAnother) {
  TwoWeights model;
  const TrainOp op = group({minimize_by(model.loss, momentum, {.learning_rate = 0.5, .variables = {"deep/b"}}),
                            adam({.learning_rate = 0.25}).minimize(model.loss, {"a"})});
  ASSERT_EQ(op.updates.size(), 3u);
  EXPECT_EQ(op.scalars[size_t(op.updates[1].rule.learning_rate_scalar)].at(0), 0.5);
  EXPECT_EQ(op.scalars[size_t(op.updates[2].rule.learning_rate_scalar)].at(0), 0.25);
}

TEST(OwnOptimizer, TrainsTablesWholeAndKeepsMovingAverages) {
  Graph graph;
  const Value ids = graph.input("ids", DType::kInt64, {4});
  const Value x = batch_norm(embedding(ids, {.ids = 10, .dimension = 3, .name = "table"}), Mode::kTrain);
  const TrainOp op = minimize_by(ops::reduce_sum(ops::square(dense(x, {.units = 1}))), momentum);
  int averages = 0;
  for (const VariableUpdate& update : op.updates) {
    EXPECT_TRUE(update.rows.empty());
    averages += update.rule.kind == Kind::kMovingAverage;
  }
  EXPECT_EQ(averages, 2);
  EXPECT_EQ(
      graph.find_variable("table/table/m") || graph.find_variable("table/embeddings/m") || graph.find_variable("table/m"),
      true);
}

TEST(OwnOptimizer, HasNumbersOfTheStepByName) {
  TwoWeights model;
  const auto rule = [](const OwnStep& step) -> std::vector<VariableUpdate> {
    EXPECT_EQ(step.by_step("half").type(), (ValueType{DType::kFloat32, {}}));
    EXPECT_EQ(step.by_step("half"), step.by_step("half"));
    return {descend(step.variable(), step.gradient() * step.by_step("half"))};
  };
  const auto half = [](uint64_t step) { return double(step) / 2; };
  const auto by = [&](const std::string& variable) {
    return minimize_by(model.loss, rule, {.variables = {variable}, .by_step = {{"half", half}}});
  };
  const TrainOp op = group({by("a"), by("deep/b")});
  ASSERT_EQ(op.inputs.size(), 2u);
  EXPECT_EQ(op.inputs[0].name, "by_step/half");
  EXPECT_EQ(op.inputs[1].name, "by_step_1/half");
  EXPECT_EQ(op.inputs[1].at(3), 1.5);
  EXPECT_THAT(refusal_of([&] {
                minimize_by(model.loss,
                            [](const OwnStep& step) -> std::vector<VariableUpdate> {
                              return {descend(step.variable(), step.gradient() * step.by_step("halve"))};
                            },
                            {.by_step = {{"half", half}}});
              }),
              HasSubstr("there is no number by_step \"halve\"; OwnOptimizerOptions::by_step has: half"));
  EXPECT_THAT(refusal_of([&] {
                minimize_by(model.loss, rule, {.by_step = {{"half", nullptr}}});
              }),
              HasSubstr("/half has no function"));
  TrainOp other = op;
  other.inputs[0].name = "a";
  EXPECT_THAT(refusal_of([&] { train_op(other); }),
              HasSubstr("step input a has to be an input of the graph, of one float32"));
}

TEST(OwnOptimizer, RefusesWhatIsNoRule) {
  TwoWeights model;
  EXPECT_EQ(refusal_of([&] { minimize_by(model.loss, {}); }), "minimize_by: there is no rule");
  EXPECT_THAT(
      refusal_of([&] { minimize_by(model.loss, [](const OwnStep&) -> std::vector<VariableUpdate> { return {}; }); }),
      HasSubstr("the rule gives no update for variable"));
  EXPECT_THAT(refusal_of([&] { minimize_by(model.a, momentum); }),
              HasSubstr("minimize_by: the loss has to be one float32 number"));
  EXPECT_THAT(refusal_of([&] { minimize_by(model.loss, momentum, {.variables = {"fixed"}}); }),
              HasSubstr("fixed is not trainable"));
  EXPECT_THAT(refusal_of([&] { minimize_by(model.loss, momentum, {.variables = {"unused"}}); }),
              HasSubstr("depends on none of the 1 variables"));
  EXPECT_THAT(refusal_of([&] {
                minimize_by(model.loss, [](const OwnStep& step) -> std::vector<VariableUpdate> {
                  return {assign(step.variable(), ops::reduce_sum(step.gradient()))};
                });
              }),
              HasSubstr("train_op: update of a: has shape [], the variable [2]"));
  EXPECT_THAT(refusal_of([&] {
                minimize_by(model.loss, [](const OwnStep& step) -> std::vector<VariableUpdate> {
                  return {descend(step.variable(), step.gradient()), assign_add(step.variable(), step.gradient())};
                });
              }),
              HasSubstr("variable a is updated twice"));
  EXPECT_THAT(refusal_of([&] {
                minimize_by(model.loss, [](const OwnStep& step) -> std::vector<VariableUpdate> {
                  return {assign(step.slot(""), step.gradient())};
                });
              }),
              HasSubstr("a slot of a has no name"));
  Graph graph;
  const Value w = graph.variable("w", Shape{1});
  const Value clash = graph.variable("w/m", Shape{1});
  EXPECT_THAT(refusal_of([&] { minimize_by(ops::reduce_sum(w * clash), momentum, {.variables = {"w"}}); }),
              HasSubstr("slot w/m: the model has a variable of this name"));
}

/// A table that is normed by its own length, say, without a gradient for that, is updated by rows still.
TEST(StopGradientOfATable, KeepsUpdatesByRows) {
  Graph graph;
  const Value ids = graph.input("ids", DType::kInt64, {4});
  const Value table = graph.variable("table", Shape{10, 3});
  const Value length = ops::stop_gradient(ops::reduce_sum(ops::square(table)));
  const Value loss = ops::reduce_sum(ops::square(ops::embedding_lookup(table, ids))) / (length + 1.0);
  const TrainOp op = sgd().minimize(loss);
  ASSERT_EQ(op.updates.size(), 1u);
  EXPECT_EQ(op.updates[0].rows.size(), 1u);
}

}  // namespace
}  // namespace shoal::nn
