// SPDX-License-Identifier: Apache-2.0
#include "shoal/graph/graph_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "../backends/run_graph.h"
#include "shoal/base/random.h"
#include "shoal/graph/op.h"
#include "shoal/graph/ops.h"

namespace shoal {
namespace {

using ::testing::HasSubstr;

/// Every kind of node, attribute and constant.
std::unique_ptr<Graph> model() {
  auto graph = std::make_unique<Graph>(RandomKey{0xfedcba9876543210});
  const Value image = graph->input("image", DType::kFloat32, {Dim::symbol("batch"), 6, 6, 1});
  const Value labels = graph->input("labels", DType::kInt64, {Dim::symbol("batch")});
  const auto scope = graph->scope("net");
  Value h = ops::conv2d(
      image, graph->variable("kernel", {2, 1, 3, 3}, {.initializer = {Initializer::Kind::kTruncatedNormal, 0, 0.1}}), {},
      {.padding = Padding::same()});
  h = ops::dropout(ops::flatten(ops::max_pool(ops::relu(h))), 0.25);
  const Value logits =
      ops::dense(h, graph->variable("out", {3, 18}), graph->constant(Tensor::of<float>({3}, {0.1f, -2.5f, 3e-9f})));
  const Value loss = ops::reduce_mean(ops::softmax_cross_entropy({.labels = labels, .logits = logits}).loss);
  graph->variable("steps", {}, {.dtype = DType::kInt64, .trainable = false});
  ops::scale(loss, std::numeric_limits<double>::infinity(), "weird");
  graph->constant(Tensor::of<int64_t>({2}, {std::numeric_limits<int64_t>::min(), 7}));
  gradients(loss, {graph->find("net/kernel"), graph->find("net/out")});
  return graph;
}

TEST(GraphJson, ReadsBackWhatItWrote) {
  const auto graph = model();
  const std::string text = graph->to_json();
  const auto copy = value_or_raise(graph_from_json(text));
  EXPECT_EQ(copy->to_json(), text);
  EXPECT_EQ(copy->fingerprint(), graph->fingerprint());
  EXPECT_EQ(copy->seed(), graph->seed());
  ASSERT_EQ(copy->variables().size(), 3u);
  EXPECT_EQ(copy->variables()[0].initializer, graph->variables()[0].initializer);
  EXPECT_FALSE(copy->find_variable("net/steps")->trainable);
}

TEST(GraphJson, TheCopyComputesTheSameBits) {
  const auto graph = model();
  const auto copy = value_or_raise(graph_from_json(graph->to_json()));
  backends::testing::Feeds feeds{{"image", Tensor(DType::kFloat32, {2, 6, 6, 1})},
                                 {"labels", Tensor::of<int64_t>({2}, {2, 0})},
                                 {"net/kernel", Tensor(DType::kFloat32, {2, 1, 3, 3})},
                                 {"net/out", Tensor(DType::kFloat32, {3, 18})}};
  for (const char* name : {"image", "net/kernel", "net/out"}) fill_uniform(7, 0, feeds.at(name).mutable_as<float>(), -1, 1);
  const auto backend = backends::testing::backend_or_die("reference");
  auto run = [&](Graph& g) {
    return value_or_raise(backends::testing::run_once(
        *backend, g, {g.find("net/reduce_mean"), g.find("net/gradients/conv2d_grad_kernel")}, feeds, {{"batch", 2}}));
  };
  const auto a = run(*graph);
  const auto b = run(*copy);
  EXPECT_TRUE(backends::testing::same_bits(a[0], b[0]));
  EXPECT_TRUE(backends::testing::same_bits(a[1], b[1]));
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const size_t at = text.find(what);
  SHOAL_CHECK(at != std::string::npos);
  return text.replace(at, what.size(), by);
}

TEST(GraphJson, RefusesADescriptionThatContradictsItself) {
  Graph graph;
  const Value x = graph.input("x", DType::kFloat32, {2, 3});
  ops::relu(x + graph.constant(Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6})), "y");
  graph.variable("w", {4});
  const std::string good = graph.to_json();
  ASSERT_TRUE(graph_from_json(good));
  struct Damage {
    std::string what, by;
    ErrorKind kind;
    std::string says;
  };
  const std::vector<Damage> damages{
      {"\"nodes\"", "\"knots\"", ErrorKind::kDataLoss, "\"nodes\" is missing"},
      {"\"version\": 1", "\"version\": 2", ErrorKind::kFailedPrecondition,
       "it has version 2 of the format, but this program reads version 1"},
      // Lists so deep are not printed: whatever prints them recursively would run out of stack.
      {"\"version\": 1", "\"version\": " + std::string(500000, '[') + std::string(500000, ']'), ErrorKind::kDataLoss,
       "\"version\" must be an integer"},
      {"shoal-graph", "onnx", ErrorKind::kDataLoss, "\"format\" is \"onnx\""},
      {"\"op\": \"relu\"", "\"op\": \"no_op\"", ErrorKind::kNotFound, "there is no op \"no_op\""},
      {"\"name\": \"y\"", "\"name\": \"x\"", ErrorKind::kDataLoss, "the name is taken"},
      {"\"seed\": \"0\"", "\"seed\": \"-1\"", ErrorKind::kDataLoss, "is not a 64-bit integer"},
      {"\"float32\"", "\"float33\"", ErrorKind::kDataLoss, "\"float33\" is not a type"},
      {"\"float32\"", "\"string\"", ErrorKind::kDataLoss, "operand 0 is text"},
      {"AACAPwAAAEA", "AACAPwAA!EA", ErrorKind::kDataLoss, "\"constant\" is not base64"},
      {"AACAPwAAAEA", "AACAPwA", ErrorKind::kDataLoss, "\"constant\""},
      {"\"trainable\": true", "\"trainable\": 1", ErrorKind::kDataLoss, "\"trainable\" must be true or false"},
      {"\"kind\": \"constant\"", "\"kind\": \"magic\"", ErrorKind::kDataLoss, "is not a kind of initializer"},
  };
  for (const Damage& damage : damages) {
    SCOPED_TRACE(damage.what + " -> " + damage.by.substr(0, 50));
    const auto result = graph_from_json(replaced(good, damage.what, damage.by));
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind(), damage.kind) << result.error().message();
    EXPECT_THAT(result.error().message(), HasSubstr(damage.says));
    EXPECT_THAT(result.error().message(), ::testing::StartsWith("graph description: "));
  }
}

TEST(GraphJson, TellsTheOpsThatACatalogueLacks) {
  Graph graph;
  ops::relu(graph.input("x", DType::kFloat32, {2}) * 2.0, "y");
  const std::string text = graph.to_json();
  EXPECT_TRUE(value_or_raise(lacking_ops(text)).empty());
  const std::string other = replaced(text, "\"op\": \"relu\"", "\"op\": \"my_relu\"");
  EXPECT_EQ(value_or_raise(lacking_ops(other)), (std::map<std::string, int64_t>{{"my_relu", 0}}));
  OpCatalogue catalogue;
  OpDef op{.name = "my_relu", .version = 4, .inputs_min = 1, .inputs_max = 1};
  op.shape_rule = [](std::span<const ValueType> inputs, const Attributes&) -> Result<std::vector<ValueType>> {
    return std::vector{inputs[0]};
  };
  op.kernel = [](const OpCall&) -> Result<void> { return {}; };
  ASSERT_TRUE(catalogue.add(op));
  Graph own(0, &catalogue);
  own.add("my_relu", {own.input("x", DType::kFloat32, {2})});
  EXPECT_EQ(value_or_raise(lacking_ops(own.to_json())), (std::map<std::string, int64_t>{{"my_relu", 4}}));
  EXPECT_TRUE(value_or_raise(lacking_ops(own.to_json(), &catalogue)).empty());
  EXPECT_EQ(lacking_ops("{}").error().kind(), ErrorKind::kDataLoss);
  EXPECT_EQ(lacking_ops(replaced(text, "\"version\": 1", "\"version\": 2")).error().kind(), ErrorKind::kFailedPrecondition);
}

TEST(GraphJson, RefusesMoreThanItsLimits) {
  const std::string text = model()->to_json();
  EXPECT_EQ(graph_from_json(text, nullptr, {.text_bytes_max = 100}).error().kind(), ErrorKind::kInvalidArgument);
  EXPECT_EQ(graph_from_json(text, nullptr, {.nodes_max = 5}).error().kind(), ErrorKind::kInvalidArgument);
}

/// Every prefix and many flipped bytes: an error or a graph, never a crash.
TEST(GraphJson, SurvivesDamage) {
  const std::string text = model()->to_json();
  for (size_t length = 0; length < text.size(); length += 37)
    EXPECT_FALSE(graph_from_json(std::string_view(text).substr(0, length)));
  RandomStream stream(3);
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = text;
    damaged[stream.below(damaged.size())] = char(32 + stream.below(95));
    refused += !graph_from_json(damaged);
  }
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace shoal
