// SPDX-License-Identifier: Apache-2.0
/// stop_gradient: the value as it is, and a constant for whoever differentiates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../backends/run_graph.h"
#include "../estimator/own_ops.h"
#include "shoal/graph/op.h"
#include "shoal/graph/ops.h"
#include "shoal/graph/passes.h"

namespace shoal {
namespace {

using backends::testing::list;
using ::testing::ElementsAre;

class StopGradient : public ::testing::Test {
 protected:
  StopGradient() { value_or_raise(catalogue_.add(testing::round_off())); }
  std::vector<float> run(Value value) {
    return list<float>(value_or_raise(
        backends::testing::run_once(*backend_, graph_, {value}, {{"x", Tensor::of<float>({3}, {1, -2.75f, 3.25f})}}))[0]);
  }
  std::vector<std::string> computed(std::vector<Value> fetches) {
    std::vector<std::string> names;
    for (const FlowNode& node : value_or_raise(simplify(graph_, fetches, {})).nodes) names.push_back(node.node.op);
    return names;
  }

  std::unique_ptr<backends::Backend> backend_ = backends::testing::backend_or_die("reference");
  OpCatalogue catalogue_;
  Graph graph_{RandomKey{0}, &catalogue_};
  Value x_ = graph_.input("x", DType::kFloat32, {3});
};

TEST_F(StopGradient, IsAConstantForGradients) {
  const Value y = x_ * ops::stop_gradient(x_);
  EXPECT_THAT(run(y), ElementsAre(1, 7.5625f, 10.5625f));
  EXPECT_THAT(run(gradients(ops::reduce_sum(y), {x_})[0]), ElementsAre(1, -2.75f, 3.25f)) << "x, and not 2 x";
}

TEST_F(StopGradient, LeavesNoGradientWhereAllGoesThroughIt) {
  const Value stopped = ops::stop_gradient(ops::square(x_));
  const auto d = gradients(ops::reduce_sum(ops::square(stopped)), {x_, stopped});
  EXPECT_FALSE(d[0].valid());
  EXPECT_THAT(run(d[1]), ElementsAre(2, 15.125f, 21.125f)) << "the result itself has a gradient";
}

TEST_F(StopGradient, CanBeNested) {
  const Value y = ops::stop_gradient(ops::stop_gradient(x_) * x_) * x_;
  EXPECT_THAT(run(gradients(ops::reduce_sum(y), {x_})[0]), ElementsAre(1, 7.5625f, 10.5625f));
}

/// The value of round_off, which has no gradient, with that of x.
TEST_F(StopGradient, LetsAnOpWithoutGradientStandInALoss) {
  const Value rounded = graph_.add("round_off", {x_})[0];
  const Value straight = x_ + ops::stop_gradient(rounded - x_);
  EXPECT_THAT(run(straight), ElementsAre(1, -3, 3));
  EXPECT_THAT(run(gradients(ops::reduce_sum(ops::square(straight)), {x_})[0]), ElementsAre(2, -6, 6));
  // Nothing behind it needs a gradient either.
  const Value behind = graph_.add("round_off", {ops::stop_gradient(x_)})[0];
  EXPECT_THAT(run(gradients(ops::reduce_sum(behind * x_), {x_})[0]), ElementsAre(1, -3, 3));
}

TEST_F(StopGradient, IsGoneWhenTheGraphIsComputed) {
  const Value y = ops::relu(ops::stop_gradient(ops::square(x_)));
  EXPECT_THAT(computed({y}), ElementsAre("input", "square", "relu"));
  const Value ids = graph_.input("ids", DType::kInt64, {2});
  EXPECT_EQ(ops::stop_gradient(ids).type(), ids.type());
  EXPECT_THAT(computed({ops::stop_gradient(ids)}), ElementsAre("input"));
  // Merging equal nodes does not make a gradient of none: it comes after.
  const auto d = gradients(ops::reduce_sum(ops::square(x_) + ops::stop_gradient(ops::square(x_))), {x_});
  EXPECT_THAT(run(d[0]), ElementsAre(2, -5.5f, 6.5f));
}

TEST_F(StopGradient, OfAVariable) {
  const Value w = graph_.variable("w", {3});
  EXPECT_FALSE(gradients(ops::reduce_sum(ops::stop_gradient(w) * x_), {w})[0].valid());
  EXPECT_THAT(computed({ops::stop_gradient(w)}), ElementsAre("variable"));
}

}  // namespace
}  // namespace shoal
