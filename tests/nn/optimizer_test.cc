// SPDX-License-Identifier: Apache-2.0
#include "shoal/nn/optimizers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "graph_runner.h"
#include "shoal/graph/ops.h"
#include "shoal/nn/schedules.h"

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
      {adamw({.learning_rate = 0.1, .weight_decay = 1e-5}), 500},
      {rmsprop({.learning_rate = polynomial_decay({.initial = 0.1, .decay_steps = 400})}), 400},
      {rmsprop({.learning_rate = polynomial_decay({.initial = 0.01, .decay_steps = 400}), .momentum = 0.9}), 400},
      {ftrl({.learning_rate = 0.5}), 300},
      {lamb({.learning_rate = polynomial_decay({.initial = 0.1, .decay_steps = 400}), .weight_decay = 0}), 400},
      {sgd({.learning_rate = 0.1}).clip_by_global_norm(1), 200},
      {sgd({.learning_rate = 0.1}).clip_by_norm(1), 200},
      {sgd({.learning_rate = 0.1}).clip_by_value(1), 200},
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

/// loss = sum(a * ga + b * gb): gradients are ga = (3, 0) and gb = (0, -4), of norm 5 together.
struct Linear {
  Graph graph;
  Value a = graph.variable("a", Shape{2}), b = graph.variable("b", Shape{2});
  Value factor = graph.input("factor", DType::kFloat32, {});
  Value loss = ops::reduce_sum(a * graph.constant(Tensor::of<float>(Shape{2}, {3, 0}))) * 1.0 +
               ops::reduce_sum(b * graph.constant(Tensor::of<float>(Shape{2}, {0, -4})));
  std::vector<float> after_one_step(const Optimizer& optimizer) {
    GraphRunner runner(graph);
    runner.train(optimizer.minimize(loss));
    std::vector<float> values = runner.variable("a");
    values.insert(values.end(), runner.variable("b").begin(), runner.variable("b").end());
    return values;
  }
};

TEST(Optimizer, ClipsByGlobalNorm) {
  const auto step = [](double limit) {
    return Linear().after_one_step(sgd({.learning_rate = 1}).clip_by_global_norm(limit));
  };
  EXPECT_EQ(step(2.5), (std::vector<float>{-1.5f, 0, 0, 2}));
  EXPECT_EQ(step(5), (std::vector<float>{-3, 0, 0, 4})) << "not above the limit";
  EXPECT_EQ(step(100), (std::vector<float>{-3, 0, 0, 4}));
}

TEST(Optimizer, ClipsEachVariableByItsNorm) {
  const auto step = [](double limit) { return Linear().after_one_step(sgd({.learning_rate = 1}).clip_by_norm(limit)); };
  EXPECT_EQ(step(3), (std::vector<float>{-3, 0, 0, 3}));
  EXPECT_EQ(step(1.5), (std::vector<float>{-1.5f, 0, 0, 1.5f}));
}

TEST(Optimizer, ClipsByValue) {
  EXPECT_EQ(Linear().after_one_step(sgd({.learning_rate = 1}).clip_by_value(3.5)), (std::vector<float>{-3, 0, 0, 3.5f}));
}

TEST(Optimizer, ClippingLeavesTheRestOfTheRuleAlone) {
  Linear model;
  const TrainOp op = group({adam().clip_by_global_norm(1).minimize(model.loss, {"a"}),
                            sgd({.learning_rate = 0.5}).clip_by_norm(2).minimize(model.loss, {"b"})});
  ASSERT_EQ(op.scalars.size(), 4u);
  EXPECT_EQ(op.updates[0].rule.learning_rate_scalar, 0);
  EXPECT_EQ(op.updates[0].rule.gradient_scale_scalar, 1);
  EXPECT_EQ(op.updates[1].rule.learning_rate_scalar, 2);
  EXPECT_EQ(op.updates[1].rule.gradient_scale_scalar, 3);
  EXPECT_EQ(op.scalars[1].name, "gradient_scale");
  EXPECT_EQ(op.scalars[3].name, "gradient_scale/b");
  GraphRunner runner(model.graph);
  runner.train(op);
  EXPECT_NEAR(runner.variable("a")[0], -0.001, 1e-6);  // Adam's first step is its rate.
  EXPECT_EQ(runner.variable("b")[1], 1.0f);            // 0.5 * 2
}

TEST(Optimizer, ClippingFactorsAreFiniteWhateverTheNorm) {
  Linear model;
  const TrainOp op = sgd().clip_by_global_norm(2).minimize(model.loss);
  const auto factor = [&](float norm) {
    double scalars[2];
    value_or_raise(compute_scalars(op, 0, {&norm, 1}, scalars));
    return scalars[1];
  };
  EXPECT_EQ(factor(0), 1);
  EXPECT_EQ(factor(2), 1);
  EXPECT_EQ(factor(8), 0.25);
  EXPECT_EQ(factor(std::numeric_limits<float>::infinity()), 0);
  EXPECT_EQ(factor(std::numeric_limits<float>::quiet_NaN()), 1);
}

TEST(Optimizer, RefusesLimitsOutOfRange) {
  EXPECT_THAT(raised([] { sgd().clip_by_value(0); }), HasSubstr("SGD: clip_by_value: limit is 0"));
  EXPECT_THAT(raised([] { sgd().clip_by_norm(-1); }), HasSubstr("limit is -1"));
  EXPECT_THAT(raised([] { sgd().clip_by_global_norm(std::numeric_limits<double>::infinity()); }),
              HasSubstr("limit is inf"));
  EXPECT_THAT(raised([] { sgd().clip_by_norm(1).clip_by_value(1); }), HasSubstr("clipped already"));
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
  EXPECT_EQ(adamw().rule(), (UpdateRule{.kind = Kind::kAdamW, .constants = {0.9, 0.999, 1e-7, 0.01}}));
  EXPECT_EQ(rmsprop({.momentum = 0.5, .centered = true}).rule(),
            (UpdateRule{.kind = Kind::kRmsProp, .constants = {0.9, 0.5, 1e-7, 1}}));
  EXPECT_EQ(ftrl({.l1 = 1, .l2 = 2, .l2_shrinkage = 3, .beta = 4}).rule(),
            (UpdateRule{.kind = Kind::kFtrl, .constants = {0.1, 1, 2, 3, 4}}));
  EXPECT_EQ(lamb().rule(), (UpdateRule{.kind = Kind::kLamb, .constants = {0.9, 0.999, 1e-6, 0.01}}));
}

TEST(Optimizer, ByName) {
  EXPECT_THAT(optimizer_names(), ElementsAre("SGD", "Adagrad", "Adam", "AdamW", "RMSProp", "Ftrl", "LAMB"));
  for (const std::string& name : optimizer_names()) EXPECT_EQ(value_or_raise(make_optimizer(name)).name(), name);
  EXPECT_EQ(value_or_raise(make_optimizer("Adam")).learning_rate().at(0), 0.001);
  EXPECT_EQ(value_or_raise(make_optimizer("Adam", 0.25)).learning_rate().at(0), 0.25);
  for (const char* unknown : {"adam", "Lion", ""}) {
    const Result<Optimizer> result = make_optimizer(unknown);
    ASSERT_FALSE(result) << unknown;
    EXPECT_EQ(result.error().kind(), ErrorKind::kInvalidArgument);
    EXPECT_THAT(result.error().message(), HasSubstr("there are: SGD, Adagrad, Adam, AdamW, RMSProp, Ftrl, LAMB"));
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
