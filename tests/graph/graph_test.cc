// SPDX-License-Identifier: Apache-2.0
#include "shoal/graph/graph.h"

#include <gtest/gtest.h>

#include "expect_refused.h"
#include "shoal/graph/op.h"
#include "shoal/graph/ops.h"

namespace shoal {
namespace {

const Dim kBatch = Dim::symbol("batch");

TEST(Graph, NamesFollowScopesAndStayUnique) {
  Graph graph;
  const Value x = graph.input("x", DType::kFloat32, {kBatch, 3});
  std::vector<std::string> names;
  for (int i = 0; i < 2; ++i) {
    const auto scope = graph.scope("layer");
    graph.variable("kernel", {4, 3});
    names.push_back(graph.node(ops::relu(x).node()).name);
    names.push_back(graph.node(ops::relu(x).node()).name);
  }
  names.push_back(graph.node(ops::relu(x, "mine").node()).name);
  EXPECT_EQ(names, (std::vector<std::string>{"layer/relu", "layer/relu_1", "layer_1/relu", "layer_1/relu_1", "mine"}));
  EXPECT_NE(graph.find_variable("layer/kernel"), nullptr);
  EXPECT_NE(graph.find_variable("layer_1/kernel"), nullptr);
  EXPECT_EQ(graph.find_variable("kernel"), nullptr);
  EXPECT_EQ(graph.find("layer_1/relu_1").node(), 6);
  EXPECT_FALSE(graph.find("nobody").valid());
  EXPECT_FALSE(graph.find("mine", 1).valid());
}

/// Places that add such sizes up would wrap round.
TEST(Graph, RefusesAVariableWithMoreBytesThanAnyMachine) {
  Graph graph;
  graph.variable("large", {int64_t(1) << 54});
  EXPECT_REFUSED(graph.variable("larger", {(int64_t(1) << 54) + 1}),
                 "variable \"larger\" of shape [18014398509481985]: it has more bytes than any machine; make it smaller");
  EXPECT_REFUSED(
      graph.variable("larger", {int64_t(1) << 62, 1024}),
      "variable \"larger\" of shape [4611686018427387904, 1024]: it has more bytes than any machine; make it smaller");
}

TEST(Graph, RefusesASecondVariableOrInputOfOneName) {
  Graph graph;
  graph.variable("kernel", {2});
  EXPECT_REFUSED(graph.variable("kernel", {2}),
                 "variable \"kernel\": a variable of this name exists; choose another name or scope");
  graph.input("x", DType::kFloat32, {2});
  EXPECT_REFUSED(graph.input("x", DType::kFloat32, {2}), "input \"x\": the name is taken; choose another name or scope");
  EXPECT_EQ(graph.variables().size(), 1u);
  EXPECT_EQ(graph.nodes().size(), 2u);
}

TEST(Graph, RefusesStringsAndForeignOperands) {
  Graph graph;
  Graph other;
  const Value x = graph.input("x", DType::kFloat32, {2});
  EXPECT_REFUSED(graph.variable("s", {2}, {.dtype = DType::kString}), "variable \"s\": strings cannot be inside a graph");
  EXPECT_REFUSED(x + other.input("x", DType::kFloat32, {2}), "add \"add\": operand 1 belongs to another graph");
  EXPECT_REFUSED(x + Value(), "add \"add\": operand 1 is an invalid Value");
  EXPECT_REFUSED(ops::relu(Value()), "relu: operand 0 is an invalid Value");
  EXPECT_REFUSED(graph.add("relu", {x, x}), "relu \"relu\": takes 1 operands, not 2");
  EXPECT_REFUSED(graph.add("dense", {x}, {{"activation", std::string("none")}}),
                 "dense \"dense\": takes 2 to 3 operands, not 1");
  EXPECT_THROW(graph.add("no_such_op", {x}), Exception);
}

TEST(Graph, RefusesMissingAndMistypedAttributes) {
  Graph graph;
  const Value x = graph.input("x", DType::kFloat32, {1, 4, 4, 1});
  EXPECT_REFUSED(graph.add("scale", {x}), "scale \"scale\": attribute \"factor\" is missing");
  EXPECT_REFUSED(graph.add("scale", {x}, {{"factor", int64_t{2}}}),
                 "scale \"scale\": attribute \"factor\" must be a real number");
  EXPECT_REFUSED(graph.add("max_pool", {x}, {{"window", std::vector<int64_t>{2}}}),
                 "max_pool \"max_pool\": attribute \"window\" must have 2 integers, not 1");
}

TEST(Graph, AttributesThatAreNotThereAreErrorsOfWhoAsks) {
  const Attributes attributes{{"slope", 2.0}, {"window", std::vector<int64_t>{2, 2}}};
  EXPECT_EQ(attributes.get_real("slope"), 2);
  EXPECT_REFUSED(attributes.get_real("scale"), "attribute \"scale\" is needed, but the node has: slope, window");
  EXPECT_REFUSED(Attributes().get_int("n"), "attribute \"n\" is needed, but the node has: none");
  const auto mismatch = [&attributes](std::string_view name) {
    try {
      static_cast<void>(attributes.get_bool(name));
      return std::string("is a bool");
    } catch (const Exception& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kTypeMismatch);
      return std::string(error.what());
    }
  };
  EXPECT_EQ(mismatch("slope"), "attribute \"slope\" is a real, but is needed as a bool");
  EXPECT_EQ(mismatch("window"), "attribute \"window\" is a list of integers, but is needed as a bool");
}

TEST(Graph, ARandomOpGetsAKeyFromItsName) {
  Graph one(RandomKey{1});
  Graph two(RandomKey{2});
  const Value a = ops::dropout(one.input("x", DType::kFloat32, {2}), 0.5);
  const Value b = ops::dropout(two.input("x", DType::kFloat32, {2}), 0.5);
  const Value c = ops::dropout(two.find("x"), 0.5);
  auto key = [](Value v) { return v.graph().node(v.node()).attributes.get_int("key"); };
  EXPECT_EQ(key(a), key(b));
  EXPECT_NE(key(b), key(c));
}

/// The MLP that the next tests describe twice.
void build_scalar_model(Graph& graph, float constant, bool trainable = true, const std::string& name = "w",
                        double low = 0) {
  const Value w = graph.variable(name, {}, {.initializer = {Initializer::Kind::kUniform, low, 1}, .trainable = trainable});
  ops::scale(w * graph.constant(constant), 2.0);
}

uint64_t scalar_fingerprint(float constant, bool trainable = true, const std::string& name = "w", double low = 0,
                            RandomKey seed = 0) {
  Graph graph(seed);
  build_scalar_model(graph, constant, trainable, name, low);
  return graph.fingerprint();
}

TEST(Graph, FingerprintIsOfTheModelNotOfTheSeed) {
  const uint64_t base = scalar_fingerprint(1.0f);
  EXPECT_EQ(scalar_fingerprint(1.0f), base);
  EXPECT_EQ(scalar_fingerprint(1.0f, true, "w", 0, 77), base);
  EXPECT_NE(scalar_fingerprint(1.5f), base);
  EXPECT_NE(scalar_fingerprint(1.0f, false), base);
  EXPECT_NE(scalar_fingerprint(1.0f, true, "v"), base);
  EXPECT_NE(scalar_fingerprint(1.0f, true, "w", -1), base);
}

TEST(Graph, FingerprintStaysTheSameBetweenVersionsOfShoal) {
  // Checkpoints keep it: a change here breaks resuming, so it must be wanted and told.
  EXPECT_EQ(scalar_fingerprint(1.0f), 7599784668574812131u);
}

TEST(Graph, RefusesAShapeThatDoesNotFitWithNodeNameAndTypes) {
  Graph graph;
  const Value x = graph.input("x", DType::kFloat32, {kBatch, 4});
  EXPECT_REFUSED(ops::add(x, graph.constant(Tensor::of<float>({3}, {1, 2, 3}))),
                 "add \"add\": a [batch, 4] and b [3] do not broadcast: from the last axis on, sizes must be equal or 1");
}

TEST(Graph, NamesAreUtf8OfSomeLength) {
  Graph graph;
  const std::string sentence =
      "is no UTF-8: its byte 1 (counted from 0) is 0xF6; names are saved with the model, as UTF-8; rename it";
  EXPECT_REFUSED(graph.input("h\xF6he", DType::kFloat32, DimShape(Shape{1})),
                 "the name of input (\"h\\xF6he\") " + sentence);
  EXPECT_REFUSED(graph.variable("h\xF6he", Shape{1}), "the name of variable (\"h\\xF6he\") " + sentence);
  EXPECT_NO_THROW(graph.variable("h\xC3\xB6he", Shape{1}));
  EXPECT_NO_THROW(graph.input("features//", DType::kFloat32, DimShape(Shape{1})));
  EXPECT_NO_THROW(graph.variable(std::string(16384, 'l'), Shape{1}));
  EXPECT_REFUSED(graph.variable(std::string(16385, 'm'), Shape{1}),
                 "the name of variable (\"" + std::string(40, 'm') +
                     "...\") has 16385 bytes, but may have at most 16384; make it shorter");
  const auto scope = graph.scope("layer");
  EXPECT_REFUSED(graph.input("", DType::kFloat32, DimShape(Shape{1})), "input \"layer/\": the name is empty");
  EXPECT_REFUSED(graph.variable("", Shape{1}), "variable \"layer/\": the name is empty");
}

}  // namespace
}  // namespace shoal
