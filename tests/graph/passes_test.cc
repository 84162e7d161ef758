// SPDX-License-Identifier: Apache-2.0
#include "shoal/graph/passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "shoal/graph/ops.h"

namespace shoal {
namespace {

using ::testing::ElementsAre;

class Passes : public ::testing::Test {
 protected:
  static std::vector<std::string> ops_of(const Flow& flow) {
    std::vector<std::string> names;
    for (const FlowNode& node : flow.nodes) names.push_back(node.node.op);
    return names;
  }
  Flow simplified(const std::vector<Value>& fetches, const std::vector<Value>& updates = {}) {
    return value_or_raise(simplify(graph_, fetches, updates));
  }
  Value variable(const char* name, Shape shape) { return graph_.variable(name, shape); }

  Graph graph_;
  Value x_ = graph_.input("x", DType::kFloat32, {Dim::symbol("batch"), 4});
};

TEST_F(Passes, PruneKeepsOnlyWhatIsNeeded) {
  ops::reduce_sum(ops::square(x_));
  const Value wanted = ops::relu(x_);
  graph_.input("unused", DType::kFloat32, {3});
  EXPECT_THAT(ops_of(simplified({wanted})), ElementsAre("input", "relu"));
}

TEST_F(Passes, ShapeOnlyOperandsAreNotComputed) {
  const Value big = ops::square(ops::square(x_));
  const Value filled = ops::fill_like(graph_.constant(2.0f), big);
  EXPECT_THAT(ops_of(simplified({filled})), ElementsAre("constant", "fill_like"));
}

TEST_F(Passes, EqualNodesAreMerged) {
  const Value a = ops::square(ops::relu(x_));
  const Value b = ops::square(ops::relu(x_));
  const Flow flow = simplified({a, b});
  EXPECT_THAT(ops_of(flow), ElementsAre("input", "relu", "square"));
  EXPECT_EQ(flow.fetches[0], flow.fetches[1]);
}

TEST_F(Passes, NodesThatDifferInAttributesOrKeysAreNotMerged) {
  EXPECT_EQ(simplified({ops::scale(x_, 2.0), ops::scale(x_, 3.0)}).nodes.size(), 3u);
  EXPECT_EQ(simplified({ops::dropout(x_, 0.5), ops::dropout(x_, 0.5)}).nodes.size(), 3u);
  const Value like = graph_.input("like", DType::kFloat32, {7});
  const Value one = graph_.constant(1.0f);
  EXPECT_EQ(simplified({ops::fill_like(one, like), ops::fill_like(one, x_)}).nodes.size(), 3u) << "their shapes differ";
}

TEST_F(Passes, FoldDropsWhatDoesNothing) {
  EXPECT_THAT(ops_of(simplified({ops::square(ops::scale(x_, 1.0))})), ElementsAre("input", "square"));
  EXPECT_THAT(ops_of(simplified({ops::relu(ops::relu(x_))})), ElementsAre("input", "relu"));
  EXPECT_THAT(ops_of(simplified({ops::square(ops::sum_like(x_, x_))})), ElementsAre("input", "square"));
  EXPECT_THAT(ops_of(simplified({ops::square(ops::broadcast_like(x_, x_))})), ElementsAre("input", "square"));
  const Value round_trip = ops::reshape_like(ops::reshape(x_, {Dim::symbol("batch"), 2, 2}), x_);
  EXPECT_THAT(ops_of(simplified({ops::square(round_trip)})), ElementsAre("input", "square"));
}

TEST_F(Passes, FoldComputesConstantsOfOneElement) {
  const Value c = ops::square(graph_.constant(3.0f) + graph_.constant(0.5f)) * 2.0 - graph_.constant(1.0f);
  const Flow flow = simplified({c});
  ASSERT_THAT(ops_of(flow), ElementsAre("constant"));
  EXPECT_EQ(flow.nodes[0].node.constant.as<float>()[0], 23.5f);
  const Value reshaped = ops::reshape(graph_.constant(Tensor::of<float>({2}, {1, 2})), {2, 1});
  EXPECT_THAT(ops_of(simplified({reshaped})), ElementsAre("constant"));
}

TEST_F(Passes, ReluIsFusedIntoDense) {
  const Value y = ops::relu(ops::dense(x_, variable("kernel", {3, 4}), variable("bias", {3})));
  const Flow flow = simplified({y});
  ASSERT_THAT(ops_of(flow), ElementsAre("input", "variable", "variable", "dense"));
  EXPECT_EQ(flow.nodes[3].node.attributes.get_string("activation"), "relu");
  EXPECT_EQ(graph_.node(y.node()).op, "relu") << "the graph itself stays";
  EXPECT_EQ(graph_.find("dense").graph().nodes()[3].attributes.get_string("activation"), "none");
}

TEST_F(Passes, ReluIsFusedAlsoWhereItsGradientIsNeeded) {
  const Value kernel = variable("kernel", {3, 4});
  const Value loss = ops::reduce_sum(ops::relu(ops::dense(x_, kernel)));
  const Flow flow = simplified({loss}, gradients(loss, {kernel}));
  EXPECT_THAT(ops_of(flow), ::testing::Not(::testing::Contains("relu")));
}

TEST_F(Passes, ReluIsNotFusedWhereThePreActivationIsNeeded) {
  const Value pre = ops::dense(x_, variable("kernel", {3, 4}));
  const Value y = ops::relu(pre);
  EXPECT_THAT(ops_of(simplified({y, pre})), ::testing::Contains("relu")) << "it is fetched";
  EXPECT_THAT(ops_of(simplified({y}, {pre})), ::testing::Contains("relu")) << "it is an update";
  EXPECT_THAT(ops_of(simplified({y, ops::square(pre)})), ::testing::Contains("relu")) << "another op uses it";
  EXPECT_THAT(ops_of(simplified({y})), ::testing::Not(::testing::Contains("relu")));
}

TEST_F(Passes, BatchNormDoesNotAddWhatComesAfterIt) {
  const Value scale = variable("scale", {4}), shift = variable("shift", {4});
  const Value norm = ops::batch_norm(x_, scale, shift).y;
  const Value y = ops::relu(ops::square(x_) + norm);
  EXPECT_THAT(ops_of(simplified({y})), ElementsAre("input", "variable", "variable", "batch_norm", "square", "add", "relu"))
      << "an operand of batch_norm has to come before it";
}

TEST_F(Passes, BatchNormAddsWhatIsThereBeforeIt) {
  const Value scale = variable("scale", {4}), shift = variable("shift", {4});
  const Value shortcut = ops::square(x_);
  const Value norm = ops::batch_norm(x_, scale, shift).y;
  const Flow flow = simplified({ops::relu(shortcut + norm)});
  EXPECT_THAT(ops_of(flow), ElementsAre("input", "variable", "variable", "square", "batch_norm"));
  EXPECT_EQ(flow.nodes[4].inputs.size(), 4u);
  EXPECT_EQ(flow.nodes[4].node.attributes.get_string("activation"), "relu");
  EXPECT_THAT(ops_of(simplified({ops::relu(shortcut + norm), norm})),
              ElementsAre("input", "variable", "variable", "square", "batch_norm", "add", "relu"))
      << "what is fetched itself stays";
  EXPECT_THAT(ops_of(simplified({norm + norm})), ElementsAre("input", "variable", "variable", "batch_norm", "add"));
}

TEST_F(Passes, BatchNormGradUndoesItsRelu) {
  const Value scale = variable("scale", {4}), shift = variable("shift", {4});
  const Value y = ops::relu(ops::batch_norm(x_, scale, shift).y);
  const Value dscale = gradients(ops::reduce_sum(ops::square(y)), {scale})[0];
  const Flow flow = simplified({dscale});
  const auto names = ops_of(flow);
  EXPECT_THAT(names, ::testing::Not(::testing::Contains("relu_grad")));
  EXPECT_EQ(names.back(), "batch_norm_grad");
  EXPECT_EQ(flow.nodes.back().inputs.size(), 6u);
}

/// What passes may do follows from an op's definition, so a user's own op takes part.
class OwnOps : public ::testing::Test {
 protected:
  OwnOps() {
    const ShapeRule like_x = [](std::span<const ValueType> inputs, const Attributes&) -> Result<std::vector<ValueType>> {
      return std::vector{inputs[0]};
    };
    const OpKernel kernel = [](const OpCall&) -> Result<void> { return {}; };
    const auto add = [&](std::string name, int inputs_max, const Rewrites& rewrites) {
      value_or_raise(catalogue_.add({.name = std::move(name),
                                     .inputs_min = 1,
                                     .inputs_max = inputs_max,
                                     .attributes = {{"activation", std::string("none")}},
                                     .shape_rule = like_x,
                                     .rewrites = rewrites,
                                     .kernel = kernel}));
    };
    add("cap", 1, {.idempotent = true, .activation = "cap"});
    add("halve", 1, {.of_constants = [](std::span<const float> x, const Attributes&) { return x[0] / 2; }});
    add("filter", 2, {.takes_activation = "cap", .addend = 1});
    add("plain", 1, {});
  }
  std::vector<std::string> simplified(Value fetch) {
    std::vector<std::string> names;
    for (const FlowNode& node : value_or_raise(simplify(graph_, {fetch}, {})).nodes) names.push_back(node.node.op);
    return names;
  }
  Value apply(const char* op, Value x) { return graph_.add(op, {x}, {{"activation", std::string("none")}})[0]; }

  OpCatalogue catalogue_;
  Graph graph_{0, &catalogue_};
  Value x_ = graph_.input("x", DType::kFloat32, {4});
};

TEST_F(OwnOps, AreDroppedAndComputedBeforehand) {
  EXPECT_THAT(simplified(apply("cap", apply("cap", x_))), ElementsAre("input", "cap"));
  EXPECT_THAT(simplified(apply("plain", apply("plain", x_))), ElementsAre("input", "plain", "plain"));
  EXPECT_THAT(simplified(apply("halve", graph_.constant(3.0f))), ElementsAre("constant"));
}

TEST_F(OwnOps, AreFused) {
  const Value filtered = apply("filter", x_);
  EXPECT_THAT(simplified(apply("cap", filtered + x_)), ElementsAre("input", "filter"));
  EXPECT_THAT(simplified(apply("cap", apply("plain", x_))), ElementsAre("input", "plain", "cap"));
}

TEST_F(OwnOps, AreNotFusedIntoWhatComputesAnotherActivation) {
  const Value weights = graph_.variable("w", {4, 4});
  const Value x = graph_.input("rows", DType::kFloat32, {2, 4});
  EXPECT_THAT(simplified(apply("cap", ops::dense(x, weights))), ElementsAre("variable", "input", "dense", "cap"));
  EXPECT_THAT(simplified(ops::relu(apply("filter", x_))), ElementsAre("input", "filter", "relu"));
  EXPECT_THAT(simplified(ops::relu(ops::dense(x, weights))), ElementsAre("variable", "input", "dense"));
}

TEST_F(OwnOps, HaveTheInputsThatTheirRewritesAreAbout) {
  const std::pair<Rewrites, int> cases[] = {{{.addition = true}, 2},          {{.mask = true}, 2},
                                            {{.spreads_to_maxima = true}, 2}, {{.activation = "cap"}, 1},
                                            {{.takes_maxima = true}, 1},      {{.after_maxima = true}, 1},
                                            {{.idempotent = true}, 1}};
  for (const auto& [rewrites, needed] : cases) {
    const auto added = catalogue_.add({.name = "short of inputs",
                                       .inputs_min = needed - 1,
                                       .inputs_max = 2,
                                       .shape_rule = catalogue_.find("plain")->shape_rule,
                                       .rewrites = rewrites,
                                       .kernel = catalogue_.find("plain")->kernel});
    ASSERT_FALSE(added);
    EXPECT_THAT(added.error().message(), ::testing::HasSubstr("need " + std::to_string(needed) + " inputs"));
  }
}

TEST_F(OwnOps, NameInputsThatTheyMayLack) {
  for (const Rewrites& rewrites : {Rewrites{.addend = 0}, Rewrites{.addend = 2}, Rewrites{.masked_by = 5}}) {
    const auto added = catalogue_.add({.name = "wrong",
                                       .inputs_min = 1,
                                       .inputs_max = 2,
                                       .shape_rule = catalogue_.find("plain")->shape_rule,
                                       .rewrites = rewrites,
                                       .kernel = catalogue_.find("plain")->kernel});
    ASSERT_FALSE(added);
    EXPECT_THAT(added.error().message(), ::testing::HasSubstr("rewrites name an input"));
  }
}

class PoolBeforeRelu : public Passes {
 protected:
  Value image_ = graph_.input("image", DType::kFloat32, {Dim::symbol("batch"), 6, 6, 2});
  Value relu_ = ops::relu(ops::square(image_));
  Value pooled_ = ops::max_pool(relu_);
  Value loss_ = ops::reduce_sum(ops::square(pooled_));
  Value gradient_ = gradients(loss_, {image_})[0];
};

TEST_F(PoolBeforeRelu, TakesTheReluOfThePooledImage) {
  const Flow flow = simplified({pooled_});
  ASSERT_THAT(ops_of(flow), ElementsAre("input", "square", "max_pool", "relu"));
  EXPECT_EQ(flow.nodes[2].inputs[0], (FlowValue{1, 0}));
  EXPECT_EQ(flow.nodes[3].inputs[0], (FlowValue{2, 0}));
  EXPECT_EQ(flow.fetches[0], (FlowValue{3, 0}));
  for (const ValueType& type : {flow.nodes[3].input_types[0], flow.nodes[3].node.outputs[0]}) {
    EXPECT_EQ(type, pooled_.type());
  }
}

TEST_F(PoolBeforeRelu, SendsGradientsBackTheSameWay) {
  const Flow flow = simplified({loss_}, {gradient_});
  const auto names = ops_of(flow);
  const auto place = [&](const char* op) { return int32_t(std::ranges::find(names, op) - names.begin()); };
  const FlowNode &mask = flow.nodes[size_t(place("relu_grad"))], &spread = flow.nodes[size_t(place("max_pool_grad"))];
  EXPECT_EQ(mask.inputs[1], (FlowValue{place("relu"), 0}));
  EXPECT_EQ(mask.node.outputs[0], pooled_.type());
  EXPECT_THAT(mask.input_types, ElementsAre(pooled_.type(), pooled_.type()));
  EXPECT_EQ(spread.inputs[0], (FlowValue{place("relu_grad"), 0}));
  EXPECT_EQ(spread.inputs[1], (FlowValue{place("max_pool"), 1}));
  EXPECT_EQ(spread.node.outputs[0], image_.type());
  EXPECT_EQ(spread.input_types[0], pooled_.type());
}

TEST_F(PoolBeforeRelu, StaysWhereOthersReadTheRelu) {
  const auto kept = [&](const std::vector<Value>& fetches) {
    const auto names = ops_of(simplified(fetches));
    return std::ranges::find(names, "relu") < std::ranges::find(names, "max_pool");
  };
  EXPECT_FALSE(kept({loss_, gradient_}));
  EXPECT_TRUE(kept({loss_, gradient_, relu_})) << "it is fetched";
  EXPECT_TRUE(kept({loss_, gradient_, ops::scale(relu_, 2.0)})) << "another op reads it";
  EXPECT_TRUE(kept({loss_, Value(&graph_, pooled_.node(), 1)})) << "the positions of the maxima are fetched";
  const Value both = ops::reduce_sum(ops::square(relu_)) + loss_;
  EXPECT_TRUE(kept({both, gradients(both, {image_})[0]})) << "its gradient comes from elsewhere, too";
}

TEST_F(Passes, RefusesValuesOfAnotherGraph) {
  Graph other;
  const Value foreign = other.input("x", DType::kFloat32, {1});
  EXPECT_EQ(simplify(graph_, {x_, foreign}, {}).error(),
            invalid_argument("fetch 1 is an invalid Value or belongs to another graph"));
  EXPECT_EQ(simplify(graph_, {}, {Value()}).error(),
            invalid_argument("update 0 is an invalid Value or belongs to another graph"));
}

}  // namespace
}  // namespace shoal
