// SPDX-License-Identifier: Apache-2.0
/// Whole models as C++: the layers of examples.
#include <cmath>

#include "expect_subjects.h"
#include "shoal/graph/ops.h"
#include "shoal/nn/attention.h"
#include "shoal/nn/conv2d.h"
#include "shoal/nn/dense.h"
#include "shoal/nn/embedding.h"
#include "shoal/nn/flatten.h"
#include "shoal/nn/normalization.h"
#include "shoal/nn/pooling.h"
#include "shoal/nn/recurrent.h"
#include "shoal/nn/residual.h"
#include "shoal/nn/transformer.h"

namespace shoal::convert::testing {
namespace {

using nn::Mode;

/// Random values for all variables of a graph that `feeds` lacks; variances are positive.
void fill_variables(const Graph& graph, Feeds& feeds) {
  uint64_t key = 1000;
  for (const Variable& variable : graph.variables()) {
    Tensor tensor = backends::testing::random_tensor(variable.shape, ++key);
    for (float& value : tensor.mutable_as<float>()) {
      if (variable.name.ends_with("variance")) value = std::fabs(value) + 0.25f;
    }
    feeds.emplace(variable.name, std::move(tensor));
  }
}

DimShape batch_of(std::vector<Dim> rest) {
  rest.insert(rest.begin(), Dim::symbol("batch"));
  return DimShape(rest);
}

/// A model function that is written for one example.
struct Built {
  std::unique_ptr<Graph> graph = std::make_unique<Graph>(RandomKey{3});
  Feeds feeds;
  Value image(const std::string& name, std::vector<Dim> rest, const Shape& shape) {
    feeds.emplace(name, backends::testing::random_tensor(shape, 77));
    return graph->input(name, DType::kFloat32, batch_of(std::move(rest)));
  }
  Value ids(const std::string& name, std::vector<Dim> rest, Tensor tensor) {
    const DType dtype = tensor.dtype();
    feeds.emplace(name, std::move(tensor));
    return graph->input(name, dtype, batch_of(std::move(rest)));
  }
  Subject subject(const std::string& name, const std::vector<Value>& outputs, CppOptions options = {}) {
    fill_variables(*graph, feeds);
    return value_or_raise(subject_of(name, *graph, feeds, outputs, std::move(options)));
  }
};

Subject conv_net(CppOptions options = {}) {
  Built b;
  Value x = b.image("image", {28, 28, 1}, {1, 28, 28, 1});
  x = nn::max_pool(
      nn::conv2d(x, {.filters = 8, .kernel = 5, .padding = Padding::same(), .activation = nn::Activation::kRelu}));
  x = nn::max_pool(nn::conv2d(x, {.filters = 16, .padding = Padding::same(), .activation = nn::Activation::kRelu}));
  x = nn::dense(nn::flatten(x), {.units = 32, .activation = nn::Activation::kRelu});
  return b.subject("conv_net", {ops::softmax(nn::dense(x, {.units = 10}))}, std::move(options));
}

std::vector<Subject> all_models() {
  std::vector<Subject> subjects{conv_net()};
  {
    Built b;
    Value x = b.image("image", {16, 16, 3}, {1, 16, 16, 3});
    x = nn::residual_block(x, Mode::kPredict, {.filters = 8});
    x = nn::residual_block(x, Mode::kPredict, {.filters = 16, .strides = 2});
    x = nn::depthwise_conv2d(x, {});
    subjects.push_back(b.subject("residual_net", {nn::dense(nn::flatten(nn::global_avg_pool(x)), {.units = 5})}));
  }
  for (const bool is_lstm : {true, false}) {
    Built b;
    const Value x = b.image("signal", {Dim::symbol("time"), 6}, {1, 40, 6});
    const Value lengths = b.ids("lengths", {}, Tensor::of<int64_t>({1}, {33}));
    const Value last = is_lstm ? nn::lstm(x, {.units = 12, .lengths = lengths}).last_hidden
                               : nn::gru(x, {.units = 12, .lengths = lengths}).last_hidden;
    subjects.push_back(
        b.subject(is_lstm ? "lstm_net" : "gru_net", {nn::dense(last, {.units = 3})}, {.axes = {{"time", 40}}}));
  }
  {
    Built b;
    Tensor words(DType::kInt64, {1, 37});
    for (int64_t i = 0; i < 37; ++i) words.mutable_as<int64_t>()[size_t(i)] = i * 7 % 50;
    Value x = nn::embedding(b.ids("words", {37}, std::move(words)), {.ids = 50, .dimension = 16});
    x = nn::position_embedding(x, {.positions_max = 64});
    x = nn::transformer_block(x, Mode::kPredict, {.heads = 4, .causal = true});
    x = nn::transformer_block(x, Mode::kPredict, {.heads = 2, .feed_forward_units = 24});
    subjects.push_back(b.subject("transformer", {nn::dense(nn::layer_norm(x), {.units = 50})}));
  }
  {
    Built b;
    const Value ids = b.ids("items", {6}, Tensor::of<int64_t>({1, 6}, {4, -1, 19, 0, -1, 7}));
    const Value weights = b.image("counts", {6}, {1, 6});
    const Value table = b.graph->variable("table", {20, 9});
    std::vector<Value> bags;
    for (const auto combiner : {ops::Combiner::kSum, ops::Combiner::kMean, ops::Combiner::kSqrtN}) {
      bags.push_back(ops::embedding_bag(table, ids, {.combiner = combiner}));
      bags.push_back(ops::embedding_bag(table, ids, {.combiner = combiner, .weights = weights}));
    }
    subjects.push_back(b.subject("bags", {nn::dense(ops::concat(bags, 1), {.units = 4})}));
  }
  return subjects;
}

TEST(CppModels, HaveTheBitsOfPortable) {
  if (const std::string reason = why_not_here(); !reason.empty()) GTEST_SKIP() << reason;
  const std::vector<Subject> subjects = all_models();
  expect_results(subjects, {.flags = "-O2" + fused_flag()});
  expect_results(subjects, {.flags = "-O3 -Wpedantic -Wshadow -fno-exceptions -fno-rtti" + fused_flag()});
#if defined(__x86_64__)
  expect_results(subjects, {.flags = "-O2"}, 1e-6);
#endif
}

TEST(CppModels, HaveTheSameBitsOnArm64) {
  if (!has_program("aarch64-linux-gnu-g++") || !has_program("qemu-aarch64-static")) {
    GTEST_SKIP() << "there is no g++ for arm64, or no qemu-user";
  }
  expect_results(all_models(),
                 {.program = "aarch64-linux-gnu-g++", .flags = "-O2 -static", .emulator = "qemu-aarch64-static"});
}

}  // namespace
}  // namespace shoal::convert::testing
