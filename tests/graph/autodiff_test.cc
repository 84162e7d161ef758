// SPDX-License-Identifier: Apache-2.0
/// Gradients against closed forms. (Every op against finite differences: tests/conformance.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "../backends/run_graph.h"
#include "expect_refused.h"
#include "shoal/graph/op.h"
#include "shoal/graph/ops.h"

namespace shoal {
namespace {

using backends::testing::Feeds;
using backends::testing::list;
using ::testing::ElementsAre;

class Autodiff : public ::testing::Test {
 protected:
  std::vector<float> run(Value value, const Feeds& feeds) {
    return list<float>(value_or_raise(backends::testing::run_once(*backend_, graph_, {value}, feeds))[0]);
  }
  std::unique_ptr<backends::Backend> backend_ = backends::testing::backend_or_die("reference");
  Graph graph_;
  Value x_ = graph_.input("x", DType::kFloat32, {3});
  Value y_ = graph_.input("y", DType::kFloat32, {3});
  Feeds feeds_{{"x", Tensor::of<float>({3}, {1, -2, 3})}, {"y", Tensor::of<float>({3}, {4, 5, -6})}};
};

TEST_F(Autodiff, OfAPolynomial) {
  // d/dx sum(x^2 y - 3 x) = 2 x y - 3; d/dy = x^2
  const Value loss = ops::reduce_sum(ops::square(x_) * y_ - 3.0 * x_);
  const auto d = gradients(loss, {x_, y_});
  EXPECT_THAT(run(d[0], feeds_), ElementsAre(5, -23, -39));
  EXPECT_THAT(run(d[1], feeds_), ElementsAre(1, 4, 9));
}

TEST_F(Autodiff, AddsWhatComesByAllPaths) {
  // loss = mean(x x + x) : (2 x + 1) / 3, with x used four times
  const auto d = gradients(ops::reduce_mean(x_ * x_ + x_), {x_});
  EXPECT_THAT(run(d[0], feeds_), ElementsAre(1, -1, ::testing::FloatEq(7.0f / 3)));
}

TEST_F(Autodiff, OfNumbersAsOperands) {
  const auto value_and_slope = [&](Value y) {
    std::vector<float> both = run(y, feeds_);
    const std::vector<float> slope = run(gradients(ops::reduce_sum(y), {x_})[0], feeds_);
    both.insert(both.end(), slope.begin(), slope.end());
    return both;
  };
  EXPECT_THAT(value_and_slope(6.0 / x_), ElementsAre(6, -3, 2, -6, -1.5f, ::testing::FloatEq(-6.0f / 9)));
  const auto near = [](std::vector<float> expected) {
    return ::testing::Pointwise(::testing::FloatNear(1e-5f), std::move(expected));
  };
  EXPECT_THAT(value_and_slope(ops::pow(x_, 2.0)), near({1, 4, 9, 2, -4, 6}));
  EXPECT_THAT(run(ops::pow(2.0, x_), feeds_), near({2, 0.25f, 8}));
  EXPECT_THAT(value_and_slope(ops::maximum(x_, 0.0)), ElementsAre(1, 0, 3, 1, 0, 1));
  EXPECT_THAT(value_and_slope(ops::minimum(x_, 2)), ElementsAre(1, -2, 2, 1, 1, 0));
  EXPECT_THAT(run(ops::greater(x_, 1.0), feeds_), ElementsAre(0, 0, 1));
  EXPECT_THAT(run(ops::greater_equal(x_, 1.0), feeds_), ElementsAre(1, 0, 1));
  EXPECT_THAT(run(ops::less(x_, 1.0), feeds_), ElementsAre(0, 1, 0));
  EXPECT_THAT(run(ops::less_equal(x_, 1.0), feeds_), ElementsAre(1, 1, 0));
  EXPECT_THAT(run(ops::equal(x_, 1.0), feeds_), ElementsAre(1, 0, 0));
  EXPECT_THAT(run(ops::not_equal(x_, 1.0), feeds_), ElementsAre(0, 1, 1));
}

TEST_F(Autodiff, OfCompoundAssignments) {
  Value z = x_;
  z += y_;   // 5, 3, -3
  z *= 2.0;  // 10, 6, -6
  z -= x_;   // 9, 8, -9
  z /= y_;   // 2.25, 1.6, 1.5
  z += 1;
  z *= y_;  // 13, 13, -15, which is 2 (x + y) - x + y
  z -= 0.5;
  z /= 2;
  EXPECT_THAT(run(z, feeds_), ElementsAre(6.25f, ::testing::FloatEq(6.25f), -7.75f));
  EXPECT_THAT(run(gradients(ops::reduce_sum(z), {x_})[0], feeds_), ::testing::Each(::testing::FloatEq(0.5f)));
  EXPECT_THAT(run(x_, feeds_), ElementsAre(1, -2, 3)) << "the former value";
}

TEST_F(Autodiff, OfAnInnerValueAndOfTheLossItself) {
  const Value inner = x_ * y_;
  const Value loss = ops::reduce_sum(ops::square(inner));
  const auto d = gradients(loss, {inner, loss});
  EXPECT_THAT(run(d[0], feeds_), ElementsAre(8, -20, -36));
  EXPECT_THAT(run(d[1], feeds_), ElementsAre(1));
}

TEST_F(Autodiff, GivesNothingWhereNothingDepends) {
  const auto d = gradients(ops::reduce_sum(x_), {y_, x_});
  EXPECT_FALSE(d[0].valid());
  EXPECT_TRUE(d[1].valid());
}

TEST_F(Autodiff, AddsNoNodeThatNobodyAskedFor) {
  const Value kernel = graph_.variable("kernel", {2, 3});
  const Value h = ops::dense(ops::reshape(x_, {1, 3}), kernel);
  const size_t before = graph_.nodes().size();
  gradients(ops::reduce_sum(h), {kernel});
  std::set<std::string> added;
  for (size_t i = before; i < graph_.nodes().size(); ++i) added.insert(graph_.nodes()[i].op);
  EXPECT_EQ(added, (std::set<std::string>{"reduce_sum", "constant", "fill_like", "dense_grad_kernel"}));
}

TEST_F(Autodiff, StopsAtIntegers) {
  // The accuracy depends on x only through argmax: no gradient, and no error.
  const Value accuracy =
      ops::reduce_mean(ops::equal(ops::argmax(ops::reshape(x_, {1, 3})), graph_.constant(Tensor::of<int64_t>({1}, {2}))));
  EXPECT_FALSE(gradients(accuracy, {x_})[0].valid());
}

TEST_F(Autodiff, OfSoftmaxCrossEntropyIsSoftmaxMinusOneHot) {
  const Value labels = graph_.constant(Tensor::of<int64_t>({1}, {1}));
  const auto result = ops::softmax_cross_entropy({.labels = labels, .logits = ops::reshape(x_, {1, 3})});
  const auto d = gradients(ops::reduce_sum(result.loss), {x_});
  const auto softmax = run(result.softmax, feeds_);
  const auto actual = run(d[0], feeds_);
  for (size_t i = 0; i < 3; ++i) EXPECT_FLOAT_EQ(actual[i], softmax[i] - (i == 1 ? 1.0f : 0.0f));
}

TEST_F(Autodiff, OfDropoutUsesTheSameMask) {
  Graph graph(RandomKey{5});
  const Value x = graph.input("x", DType::kFloat32, {64});
  const Value y = ops::dropout(x, 0.5);
  const Value dx = gradients(ops::reduce_sum(y), {x})[0];
  Tensor ones(DType::kFloat32, {64});
  for (float& one : ones.mutable_as<float>()) one = 1.0f;
  const auto results = value_or_raise(
      backends::testing::run_once(*backend_, graph, {y, dx}, {{"x", ones}}, {}, {.trainer = 1, .ordinal = 2}));
  EXPECT_EQ(list<float>(results[0]), list<float>(results[1]));
  EXPECT_THAT(list<float>(results[0]), ::testing::Each(::testing::AnyOf(0.0f, 2.0f)));
}

TEST_F(Autodiff, RefusesALossThatIsNoScalar) {
  EXPECT_REFUSED(gradients(x_, {x_}),
                 "gradients: the loss is float32 [3]; it must be one float32 (take reduce_mean or reduce_sum)");
  EXPECT_REFUSED(gradients(Value(), {x_}), "gradients: the loss is an invalid Value");
  EXPECT_REFUSED(gradients(ops::reduce_sum(x_), {Value()}),
                 "gradients: a value to differentiate for is invalid or of another graph");
}

TEST_F(Autodiff, RefusesAnOpWithoutGradient) {
  const Value w = graph_.add("relu_grad", {x_, y_}, {}, "inner")[0];
  EXPECT_REFUSED(
      gradients(ops::reduce_sum(w), {x_}),
      "relu_grad \"inner\": the loss depends on a variable through this op, which has no gradient; give it one, or put "
      "ops::stop_gradient() around it where none is meant");
}

TEST(AutodiffOfUserOps, RefusesAGradientOfAnotherShape) {
  OpCatalogue catalogue;
  value_or_raise(catalogue.add(
      {.name = "odd",
       .inputs_min = 1,
       .inputs_max = 1,
       .shape_rule = [](auto inputs, const Attributes&) -> Result<std::vector<ValueType>> {
         return std::vector{inputs[0]};
       },
       .gradient = [](const GradientRequest& request) { return std::vector{ops::reduce_sum(request.output_gradients[0])}; },
       .kernel = [](const OpCall&) -> Result<void> { return {}; }}));
  Graph graph(0, &catalogue);
  const Value x = graph.input("x", DType::kFloat32, {3});
  EXPECT_REFUSED(gradients(ops::reduce_sum(graph.add("odd", {x})[0]), {x}),
                 "odd \"odd\": its gradient rule returned float32 [] for operand 0, which is float32 [3]");
}

}  // namespace
}  // namespace shoal
