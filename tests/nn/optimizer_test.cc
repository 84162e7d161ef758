#include "shoal/nn/optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "graph_runner.h"
#include "shoal/graph/ops.h"

namespace shoal::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Kind = UpdateRule::Kind;

/// loss = sum((w - target)^2), w starting at 0.
struct Quadratic {
  Graph graph;
  Value w = graph.variable("w", Shape{3});
  Value loss = ops::reduce_sum(ops::square(w - graph.constant(Tensor::of<float>(Shape{3}, {1, -2, 0.5f}))));
};

TEST(Optimizer, EveryOneReachesTheMinimumOfAQuadratic) {
  const std::vector<std::pair<Optimizer, int>> cases{
      {sgd({.learning_rate = 0.1}), 100},
      {sgd({.learning_rate = 0.02, .momentum = 0.9}), 300},
      {sgd({.learning_rate = 0.02, .momentum = 0.9, .nesterov = true}), 300},
      {adagrad({.learning_rate = 0.5}), 300},
      {adam({.learning_rate = 0.1}), 500},
  };
  for (const auto& [optimizer, steps] : cases) {
    SCOPED_TRACE(optimizer.name() + ", " + std::string(to_string(optimizer.rule().kind)));
    Quadratic model;
    const TrainOp op = optimizer.minimize(model.loss);
    GraphRunner runner(model.graph);
    const float before = runner.number(model.loss);
    for (int step = 0; step < steps; ++step) runner.train(op);
    EXPECT_FLOAT_EQ(before, 1 + 4 + 0.25f);
    EXPECT_LT(runner.number(model.loss), 1e-5f);
    EXPECT_NEAR(runner.variable("w")[1], -2, 3e-3);
    EXPECT_EQ(runner.global_step(), uint64_t(steps));
  }
}

TEST(Optimizer, OneSgdStepIsTheFormula) {
  Quadratic model;
  GraphRunner runner(model.graph);
  runner.train(sgd({.learning_rate = 0.25}).minimize(model.loss));
  EXPECT_EQ(runner.variable("w"), (std::vector<float>{0.5f, -1, 0.25f}));  // w - 0.25 * 2 * (w - target)
}

TEST(Optimizer, TheLearningRateFollowsTheGlobalStep) {
  Quadratic model;
  const Optimizer optimizer = sgd({.learning_rate = [](uint64_t step) { return step == 0 ? 0.0 : 0.5; }});
  const TrainOp op = optimizer.minimize(model.loss);
  ASSERT_EQ(op.scalars.size(), 1u);
  EXPECT_EQ(op.scalars[0].name, "learning_rate");
  EXPECT_EQ(op.scalars[0].at(7), 0.5);
  GraphRunner runner(model.graph);
  runner.train(op);
  EXPECT_EQ(runner.variable("w"), (std::vector<float>{0, 0, 0}));
  runner.train(op);
  EXPECT_EQ(runner.variable("w"), (std::vector<float>{1, -2, 0.5f}));
}

TEST(Optimizer, LeavesOutWhatTheLossDoesNotDependOn) {
  Quadratic model;
  model.graph.variable("elsewhere", Shape{2});
  model.graph.variable("fixed", Shape{2}, {.trainable = false});
  const TrainOp op = sgd().minimize(model.loss);
  ASSERT_EQ(op.updates.size(), 1u);
  EXPECT_EQ(op.updates[0].variable, "w");
  EXPECT_EQ(op.updates[0].rule, (UpdateRule{.kind = Kind::kSgd}));
  EXPECT_TRUE(op.advances_global_step);
}

TEST(Optimizer, ChangesOnlyTheVariablesNamed) {
  Graph graph;
  const Value a = graph.variable("a", Shape{}), b = graph.variable("b", Shape{});
  const Value loss = ops::square(a) + ops::square(b);
  const TrainOp op = sgd().minimize(loss, {"b"});
  ASSERT_EQ(op.updates.size(), 1u);
  EXPECT_EQ(op.updates[0].variable, "b");
}

TEST(Optimizer, MakersSetTheRules) {
  EXPECT_EQ(sgd().rule(), (UpdateRule{.kind = Kind::kSgd}));
  EXPECT_EQ(sgd({.momentum = 0.9}).rule(), (UpdateRule{.kind = Kind::kMomentum, .constants = {0.9, 0}}));
  EXPECT_EQ(sgd({.momentum = 0.9, .nesterov = true}).rule(), (UpdateRule{.kind = Kind::kMomentum, .constants = {0.9, 1}}));
  EXPECT_EQ(adagrad().rule(), (UpdateRule{.kind = Kind::kAdagrad, .constants = {0.1, 1e-7}}));
  EXPECT_EQ(adam().rule(), (UpdateRule{.kind = Kind::kAdam, .constants = {0.9, 0.999, 1e-7}}));
}

TEST(Optimizer, ByName) {
  EXPECT_THAT(optimizer_names(), ElementsAre("SGD", "Adagrad", "Adam"));
  for (const std::string& name : optimizer_names()) EXPECT_EQ(value_or_raise(make_optimizer(name)).name(), name);
  EXPECT_EQ(value_or_raise(make_optimizer("Adam")).learning_rate().at(0), 0.001);
  EXPECT_EQ(value_or_raise(make_optimizer("Adam", 0.25)).learning_rate().at(0), 0.25);
  for (const char* unknown : {"adam", "Lion", ""}) {
    const Result<Optimizer> result = make_optimizer(unknown);
    ASSERT_FALSE(result) << unknown;
    EXPECT_EQ(result.error().kind(), ErrorKind::kInvalidArgument);
    EXPECT_THAT(result.error().message(), HasSubstr("there are: SGD, Adagrad, Adam"));
  }
}

TEST(Optimizer, RefusesWhatCannotBeTrained) {
  Graph graph;
  const Value x = graph.input("x", DType::kFloat32, {2});
  const Value w = graph.variable("w", Shape{2});
  graph.variable("fixed", Shape{2}, {.trainable = false});
  const Value loss = ops::reduce_sum(ops::mul(w, x));
  EXPECT_THAT(raised([&] { sgd().minimize(Value()); }), HasSubstr("SGD: the loss is no value"));
  EXPECT_THAT(raised([&] { sgd().minimize(w); }), HasSubstr("has to be one float32 number, got float32 [2]"));
  EXPECT_THAT(raised([&] { sgd().minimize(ops::reduce_sum(x)); }), HasSubstr("depends on none of the 1 variables"));
  EXPECT_THAT(raised([&] { sgd().minimize(loss, {"v"}); }), HasSubstr("no variable v"));
  EXPECT_THAT(raised([&] { sgd().minimize(loss, {"fixed"}); }), HasSubstr("fixed is not trainable"));
  EXPECT_THAT(raised([&] { sgd().minimize(loss, {"w", "w"}); }), HasSubstr("w is updated twice"));
  Graph empty;
  const Value constant = empty.constant(1.0f);
  EXPECT_THAT(raised([&] { sgd().minimize(constant); }), HasSubstr("no trainable variables"));
}

TEST(Optimizer, RefusesConstantsOutOfRange) {
  EXPECT_THAT(raised([] { sgd({.learning_rate = -1}); }), HasSubstr("learning rate is -1"));
  EXPECT_THAT(raised([] { sgd({.learning_rate = std::numeric_limits<double>::infinity()}); }),
              HasSubstr("learning rate is inf"));
  EXPECT_THAT(raised([] { sgd({.learning_rate = std::function<double(uint64_t)>()}); }), HasSubstr("an empty function"));
  EXPECT_THAT(raised([] { sgd({.momentum = 1}); }), HasSubstr("momentum is 1"));
  EXPECT_THAT(raised([] { sgd({.nesterov = true}); }), HasSubstr("nesterov needs a momentum"));
  EXPECT_THAT(raised([] { adam({.beta1 = 1}); }), HasSubstr("beta1 is 1"));
  EXPECT_THAT(raised([] { adagrad({.initial_accumulator = -1}); }), HasSubstr("initial accumulator is -1"));
}

}  // namespace
}  // namespace shoal::nn
