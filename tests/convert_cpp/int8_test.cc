// SPDX-License-Identifier: Apache-2.0
/// Models in eight bits: they are near the float model, a quarter as large, and equal whatever compiles them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "expect_subjects.h"
#include "shoal/graph/ops.h"
#include "shoal/nn/conv2d.h"
#include "shoal/nn/dense.h"
#include "shoal/nn/flatten.h"
#include "shoal/nn/normalization.h"
#include "shoal/nn/pooling.h"

namespace shoal::convert::testing {
namespace {

using ::testing::HasSubstr;

/// A network with random weights, as large as trained ones are, and examples for it.
struct Network {
  std::unique_ptr<Graph> graph = std::make_unique<Graph>(RandomKey{8});
  Feeds feeds;
  Calibration calibration;
  Value input(const std::string& name, const Shape& shape) {
    const Value x = graph->input(name, DType::kFloat32, shape);
    for (uint64_t i = 0; i < 24; ++i)
      calibration.examples.push_back({{name, backends::testing::random_tensor(shape, 500 + i)}});
    feeds.emplace(name, backends::testing::random_tensor(shape, 999));
    return x;
  }
  void fill_variables() {
    uint64_t key = 60;
    for (const Variable& variable : graph->variables()) {
      Tensor tensor = backends::testing::random_tensor(variable.shape, ++key);
      const auto inputs = double(variable.shape.elements()) / double(variable.shape.rank() > 1 ? variable.shape[0] : 1);
      const bool is_kernel = variable.name.ends_with("kernel");
      for (float& value : tensor.mutable_as<float>()) {
        if (is_kernel) value *= float(std::sqrt(6.0 / inputs));
        if (variable.name.ends_with("variance") || variable.name.ends_with("scale")) value = std::fabs(value) + 0.25f;
      }
      feeds.emplace(variable.name, std::move(tensor));
    }
  }
  Subject subject(const std::string& name, const std::vector<Value>& outputs) {
    fill_variables();
    return value_or_raise(subject_of(name, *graph, feeds, outputs, {.int8 = calibration}));
  }
};

Subject dense_net() {
  Network n;
  Value x = n.input("x", {1, 64});
  x = nn::dense(x, {.units = 48, .activation = nn::Activation::kRelu});
  x = nn::dense(x, {.units = 32, .activation = nn::Activation::kTanh});
  return n.subject("dense_net", {nn::dense(x, {.units = 10})});
}

/// With everything that eight bits know: strides, padding, dilation, depthwise filters, normalization, pools, relus of their own.
Subject conv_net_of_all() {
  Network n;
  Value x = n.input("image", {1, 20, 20, 3});
  x = nn::conv2d(x, {.filters = 8, .padding = Padding::same(), .use_bias = false});
  x = nn::relu(nn::batch_norm(x, nn::Mode::kPredict));
  x = nn::max_pool(x);
  x = nn::depthwise_conv2d(x, {.padding = Padding::same()});
  x = nn::relu(
      nn::batch_norm(nn::conv2d(x, {.filters = 12, .strides = 2, .padding = Padding::same()}), nn::Mode::kPredict));
  x = nn::avg_pool(x, {.window = 3, .strides = 1, .padding = Padding::same()});
  x = nn::conv2d(x, {.filters = 8, .padding = Padding::same(), .dilation = 2, .groups = 2});
  x = nn::relu(nn::max_pool(x, {.window = 2, .strides = 1}));
  x = nn::dense(nn::flatten(x), {.units = 24, .activation = nn::Activation::kRelu});
  const Value logits = nn::dense(x, {.units = 6});
  return n.subject("conv_net", {logits, ops::softmax(logits), x});
}

TEST(CppInt8, IsNearTheFloatModel) {
  if (const std::string reason = why_not_here(); !reason.empty()) GTEST_SKIP() << reason;
  const std::vector<Subject> subjects{dense_net(), conv_net_of_all()};
  expect_results(subjects, {.flags = "-O2" + fused_flag()}, 0.05);
  expect_results(subjects, {.flags = "-O1 -fsanitize=address,undefined -fno-sanitize-recover=all" + fused_flag()}, 0.05);
}

/// Layers and normalizations that apply a relu themselves, and a normalization behind such a layer.
Subject fused_relu_net() {
  Network n;
  Graph& graph = *n.graph;
  const std::string relu = "relu", none = "none";
  const auto dense = [&](Value x, const std::string& name, const Shape& kernel, const std::string& activation) {
    return graph.add("dense", {x, graph.variable(name + "/kernel", kernel)}, {{"activation", activation}})[0];
  };
  const auto norm = [&](Value x, const std::string& name, int64_t channels, const std::string& activation) {
    std::vector<Value> operands{x};
    for (const char* part : {"/scale", "/shift", "/mean", "/variance"})
      operands.push_back(graph.variable(name + part, {channels}));
    return graph.add("batch_norm_inference", operands, {{"epsilon", 1e-3}, {"activation", activation}})[0];
  };
  Value x = dense(n.input("x", {1, 48}), "a", {32, 48}, relu);
  x = norm(x, "b", 32, none);
  x = norm(dense(x, "c", {24, 32}, none), "d", 24, relu);
  return n.subject("fused_relu_net", {dense(x, "e", {16, 24}, relu)});
}

TEST(CppInt8, AppliesTheReluOfAnAttribute) {
  const Subject net = fused_relu_net();
  // The weights of layer a cannot take in the normalization b, which follows the relu. Those of layer c take in d.
  const std::string& source = net.source.source;
  const size_t call = source.find(" batch_norm_known(m");
  EXPECT_NE(call, std::string::npos);
  EXPECT_EQ(source.find(" batch_norm_known(m", call + 1), std::string::npos);
  if (const std::string reason = why_not_here(); !reason.empty()) GTEST_SKIP() << reason;
  const std::span<const float> expected = net.expected.at(0).as<float>();
  EXPECT_EQ(*std::ranges::min_element(expected), 0.0f) << "no output is below 0 before the relu";
  expect_results({net}, {.flags = "-O2" + fused_flag()}, 0.1);
}

TEST(CppInt8, ComputesTheLayersInEightBits) {
  const Subject net = conv_net_of_all();
  for (const char* part :
       {"dense_few_rows", "correlate", "depthwise(", "grouped(", "avg_pool(", "max_pool(", "batch_norm"}) {
    EXPECT_EQ(net.source.source.find(part), std::string::npos) << part;
  }
  Network n;
  const Value y =
      nn::dense(nn::dense(n.input("x", {1, 500}), {.units = 300, .activation = nn::Activation::kRelu}), {.units = 10});
  n.fill_variables();
  const TrainedModel model = model_of(*n.graph, n.feeds, {y});
  const CppSource wide = value_or_raise(to_cpp(model, {})), narrow = value_or_raise(to_cpp(model, {.int8 = n.calibration}));
  EXPECT_LT(narrow.weight_bytes, wide.weight_bytes * 27 / 100);
  ASSERT_EQ(narrow.int8_ranges.size(), 2u);  // The input, and what the second layer reads.
  for (const Int8Range& range : narrow.int8_ranges) {
    EXPECT_LE(range.low, 0.0f) << range.name;
    EXPECT_GT(range.high, 0.5f) << range.name;
  }
}

TEST(CppInt8, HasTheSameBitsByEveryCompiler) {
  if (const std::string reason = why_not_here(); !reason.empty()) GTEST_SKIP() << reason;
  const std::vector<Subject> subjects{dense_net(), conv_net_of_all()};
  const auto folder = std::filesystem::path(::testing::TempDir()) / "shoal_cpp_int8_compilers";
  std::vector<Compiler> compilers{{.flags = "-O0" + fused_flag()}, {.flags = "-O3" + fused_flag()}};
  if (has_program("clang++")) compilers.push_back({.program = "clang++", .flags = "-O2" + fused_flag()});
  if (has_program("aarch64-linux-gnu-g++") && has_program("qemu-aarch64-static")) {
    compilers.push_back({.program = "aarch64-linux-gnu-g++", .flags = "-O2 -static", .emulator = "qemu-aarch64-static"});
  }
  const auto first = run_compiled(subjects, {.flags = "-O2" + fused_flag()}, folder);
  ASSERT_TRUE(first) << first.error().message();
  for (const Compiler& compiler : compilers) {
    const auto other = run_compiled(subjects, compiler, folder);
    ASSERT_TRUE(other) << other.error().message();
    for (size_t i = 0; i < subjects.size(); ++i) {
      EXPECT_EQ((*first)[i].outputs, (*other)[i].outputs)
          << subjects[i].name << " " << compiler.program << " " << compiler.flags;
    }
  }
  std::filesystem::remove_all(folder);
}

TEST(CppInt8, RangesMayReachToTheEndsOfFloat32) {
  Network n;
  const Value y = nn::dense(n.input("x", {1, 2}), {.units = 2});
  n.fill_variables();
  n.feeds.insert_or_assign("x", Tensor::of<float>({1, 2}, {3e38f, -3e38f}));
  n.feeds.insert_or_assign("dense/kernel", Tensor::of<float>({2, 2}, {0.5f, 0.25f, -0.25f, 0.125f}));
  n.calibration.examples = {{{"x", n.feeds.at("x")}}};
  const Subject ends = value_or_raise(subject_of("ends", *n.graph, n.feeds, {y}, {.int8 = n.calibration}));
  EXPECT_EQ(ends.source.int8_ranges.at(0).high, 3e38f);
  // The product of a large weight and a large number is beyond float32, as its scale is.
  n.feeds.insert_or_assign("dense/kernel", Tensor::of<float>({2, 2}, {1e20f, 0, 0, 1e20f}));
  const auto refused = subject_of("beyond", *n.graph, n.feeds, {y}, {.int8 = n.calibration});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("are too large: their scales, multiplied, are beyond float32"));
  if (const std::string reason = why_not_here(); !reason.empty()) GTEST_SKIP() << reason;
  expect_results({ends}, {.flags = "-O2" + fused_flag()}, 0.05);
}

TEST(CppInt8, RefusesValuesThatAreNeverFinite) {
  Network n;
  const Value y = nn::dense(n.input("x", {1, 2}), {.units = 3});
  n.fill_variables();
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const TrainedModel model = model_of(*n.graph, n.feeds, {y});
  const std::map<std::string, Tensor> bad{{"x", Tensor::of<float>({1, 2}, {nan, -infinity})}};
  const std::map<std::string, Tensor> good{{"x", Tensor::of<float>({1, 2}, {nan, 1})}};
  const auto refused = to_cpp(model, {.int8 = Calibration{{bad, bad}}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(),
            "int8: the values of \"x\" are NaN or infinity in all examples, so these examples cannot calibrate it");
  EXPECT_TRUE(to_cpp(model, {.int8 = Calibration{{bad, good}}}));
}

TEST(CppInt8, RefusesExamplesThatDoNotFit) {
  Network n;
  const Value y = nn::dense(n.input("x", {1, 5}), {.units = 3});
  n.fill_variables();
  const TrainedModel model = model_of(*n.graph, n.feeds, {y});
  const auto refusal = [&](std::vector<std::map<std::string, Tensor>> examples) {
    const auto result = to_cpp(model, {.int8 = Calibration{std::move(examples)}});
    return result ? "" : std::string(result.error().message());
  };
  EXPECT_THAT(refusal({}), HasSubstr("int8 needs examples"));
  EXPECT_THAT(refusal({{{"z", Tensor::zeros(DType::kFloat32, {1, 5})}}}),
              HasSubstr("example 0 for int8 has no input \"x\""));
  EXPECT_THAT(refusal({{{"x", Tensor::zeros(DType::kFloat32, {2, 5})}}}),
              HasSubstr("is float32 [2, 5], expected float32 [1, 5]"));
}

}  // namespace
}  // namespace shoal::convert::testing
