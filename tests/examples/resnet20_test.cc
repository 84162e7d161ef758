// SPDX-License-Identifier: Apache-2.0
#include "resnet20.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "../backends/run_graph.h"
#include "shoal/nn/apply_update.h"
#include "shoal/nn/initializers.h"
#include "shoal/nn/losses.h"
#include "shoal/nn/optimizers.h"

namespace {

using namespace shoal;
using backends::testing::Feeds;
using backends::testing::Runner;

/// The network and its loss, for training.
struct ResNet20 {
  Graph graph{RandomKey{5}};
  Value loss;
  nn::TrainOp train_op;

  ResNet20() {
    const Dim batch = Dim::symbol("batch");
    const Value images = graph.input("images", DType::kFloat32, {batch, 32, 32, 3});
    const Value labels = graph.input("labels", DType::kInt64, {batch});
    loss = nn::reduce_loss(
        nn::softmax_cross_entropy({.labels = labels, .logits = models::resnet20(images, nn::Mode::kTrain)}));
    train_op = nn::sgd({.learning_rate = 0.1, .momentum = 0.9}).minimize(loss);
  }
  std::vector<Value> updates() const {
    std::vector<Value> values;
    for (const nn::VariableUpdate& update : train_op.updates) values.push_back(update.update);
    return values;
  }
};

TEST(ResNet20, HasTwentyLayersWithWeights) {
  const ResNet20 model;
  int64_t parameters = 0, kernels = 0;
  for (const Variable& variable : model.graph.variables()) {
    if (variable.trainable) parameters += variable.shape.elements();
    const bool shortcut = variable.name.find("shortcut") != std::string::npos;
    if (variable.name.ends_with("/kernel") && !shortcut) ++kernels;
  }
  EXPECT_EQ(parameters, 272474);
  EXPECT_EQ(kernels, 20);
}

TEST(ResNet20, AStepTakesLittleMoreMemoryThanItMust) {
  const ResNet20 model;
  const auto backend = value_or_raise(backends::make_backend(backends::built_in_backends().front().name));
  const auto program = value_or_raise(
      backend->compile(model.graph, {.sizes = {{"batch", 8}}, .fetches = {model.loss}, .updates = model.updates()}));
  const backends::CompiledProgramInfo& info = program->info();
  EXPECT_LE(double(info.arena_bytes), 1.15 * double(info.lower_bound_bytes));
}

/// Eight images that it may learn by heart.
TEST(ResNet20, Learns) {
  const ResNet20 model;
  const auto backend = value_or_raise(backends::make_backend(backends::built_in_backends().front().name));
  Runner runner = value_or_raise(
      Runner::make(*backend, model.graph, {.sizes = {{"batch", 8}}, .fetches = {model.loss}, .updates = model.updates()}));
  Feeds feeds{{"images", Tensor(DType::kFloat32, {8, 32, 32, 3})},
              {"labels", Tensor::of<int64_t>({8}, {0, 1, 2, 3, 4, 5, 6, 7})}};
  fill_uniform(7, 0, feeds.at("images").mutable_as<float>(), -1, 1);
  std::map<std::string, std::vector<float>> slots;
  for (const Variable& variable : model.graph.variables()) {
    Tensor value(variable.dtype, variable.shape);
    value_or_raise(nn::initialize(variable.initializer, nn::variable_key(5, variable.name), 0, value.mutable_view()));
    feeds.emplace(variable.name, std::move(value));
    slots[variable.name].resize(size_t(variable.shape.elements()));
  }
  std::vector<float> losses;
  for (uint64_t step = 0; step < 20; ++step) {
    value_or_raise(runner.run(feeds, {.trainer = 0, .ordinal = step}, {.epoch = 1, .version = step + 1}));
    losses.push_back(runner.fetched(0).as<float>()[0]);
    for (size_t i = 0; i < model.train_op.updates.size(); ++i) {
      const nn::VariableUpdate& update = model.train_op.updates[i];
      const auto values = feeds.at(update.variable).mutable_as<float>();
      const float* gradient = runner.update(i).as<float>().data();
      const float scale = 1;
      float* momentum = slots.at(update.variable).data();
      const std::span<float* const> update_slots(&momentum, size_t(nn::slot_count(update.rule)));
      nn::apply_update(update.rule, 0.05, step + 1, int64_t(values.size()), values.data(), values.data(), update_slots,
                       {.gradients = {&gradient, 1}, .scales = {&scale, 1}});
    }
  }
  EXPECT_NEAR(losses.front(), std::log(10.0), 1.5);
  EXPECT_LT(*std::min_element(losses.begin(), losses.end()), losses.front() / 4);
}

}  // namespace
