// SPDX-License-Identifier: Apache-2.0
// Trains a small network with every optimizer that PyTorch has too, and writes what PyTorch needs to do the same:
//   optimizers_trace <output folder>
// Output, numbers as float32 in the machine's byte order: x.bin [32, 6], y.bin [32, 3], start_<v>.bin for the variables
// v = 0 .. 3 (kernel [8, 6], bias [8], kernel [3, 8], bias [3]); per case <case>_<v>.bin, the variables after 100 steps.
// schedules.txt: per line the name of a schedule and its rates of 100 steps.
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "../nn/graph_runner.h"
#include "shoal/base/environment.h"
#include "shoal/graph/ops.h"
#include "shoal/nn/dense.h"
#include "shoal/nn/optimizers.h"
#include "shoal/nn/schedules.h"

namespace shoal {
namespace {

constexpr int kSteps = 100;

Tensor random_tensor(const Shape& shape, RandomKey key) {
  Tensor tensor(DType::kFloat32, shape);
  fill_uniform(key, 0, tensor.mutable_as<float>(), -1.0f, 1.0f);
  return tensor;
}

void write(const std::string& path, std::span<const float> values) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(values.data()), std::streamsize(values.size_bytes()));
}

/// Two layers without a corner: the loss is smooth, so rounding stays rounding.
struct Model {
  Graph graph{42};
  nn::Feeds feeds{{"x", random_tensor({32, 6}, 1)}, {"y", random_tensor({32, 3}, 2)}};
  Value loss;

  Model() {
    const Value x = graph.input("x", DType::kFloat32, {32, 6}), y = graph.input("y", DType::kFloat32, {32, 3});
    loss = ops::reduce_mean(ops::square(nn::dense(nn::dense(x, {.units = 8}), {.units = 3}) - y));
  }
  void write_variables(nn::GraphRunner& runner, const std::string& prefix) {
    for (size_t i = 0; i < graph.variables().size(); ++i) {
      write(prefix + std::to_string(i) + ".bin", runner.variable(graph.variables()[i].name));
    }
  }
};

std::vector<std::pair<std::string, nn::Optimizer>> optimizers() {
  using namespace nn;
  return {{"sgd", sgd({.learning_rate = 0.1})},
          {"sgd_momentum", sgd({.learning_rate = 0.02, .momentum = 0.9})},
          {"sgd_nesterov", sgd({.learning_rate = 0.02, .momentum = 0.9, .nesterov = true})},
          {"sgd_clip_value", sgd({.learning_rate = 0.1}).clip_by_value(0.02)},
          {"sgd_clip_norm", sgd({.learning_rate = 0.1}).clip_by_norm(0.05)},
          {"sgd_clip_global_norm", sgd({.learning_rate = 0.1}).clip_by_global_norm(0.1)},
          {"adagrad", adagrad({.learning_rate = 0.05})},
          {"adam", adam({.learning_rate = 0.01})},
          {"adam_large_epsilon", adam({.learning_rate = 0.01, .epsilon = 1e-3})},
          {"adamw", adamw({.learning_rate = 0.01, .weight_decay = 0.1})},
          {"rmsprop", rmsprop({.learning_rate = 0.005})},
          {"rmsprop_momentum", rmsprop({.learning_rate = 0.001, .momentum = 0.9})},
          {"rmsprop_centered", rmsprop({.learning_rate = 0.005, .epsilon = 1e-3, .centered = true})},
          {"adam_warm_cosine", adam({.learning_rate = warm_up(cosine_decay({.initial = 0.02, .decay_steps = 100}),
                                                              {.steps = 20, .start_factor = 0.25})})}};
}

std::vector<std::pair<std::string, nn::LearningRate>> schedules() {
  using namespace nn;
  return {{"constant", constant_rate(0.5)},
          {"step", step_decay({.initial = 0.5, .decay_steps = 30, .factor = 0.2})},
          {"exponential", exponential_decay({.initial = 0.5, .decay_steps = 1, .factor = 0.97})},
          {"polynomial", polynomial_decay({.initial = 0.5, .decay_steps = 80, .power = 1.5})},
          {"cosine", cosine_decay({.initial = 0.5, .decay_steps = 99, .end = 0.01})},
          {"piecewise", piecewise_constant({20, 70}, {0.5, 0.05, 0.005})},
          {"warm_up", warm_up(0.5, {.steps = 25, .start_factor = 0.125})}};
}

void trace(const std::string& folder) {
  Model model;
  write(folder + "/x.bin", model.feeds.at("x").as<float>());
  write(folder + "/y.bin", model.feeds.at("y").as<float>());
  {
    nn::GraphRunner untrained(model.graph);
    untrained.number(model.loss, model.feeds);
    model.write_variables(untrained, folder + "/start_");
  }
  for (const auto& [name, optimizer] : optimizers()) {
    Model fresh;
    nn::GraphRunner runner(fresh.graph);
    const nn::TrainOp op = optimizer.minimize(fresh.loss);
    for (int step = 0; step < kSteps; ++step) runner.train(op, fresh.feeds);
    fresh.write_variables(runner, folder + "/" + name + "_");
  }
  std::ofstream rates(folder + "/schedules.txt");
  rates.precision(17);
  for (const auto& [name, schedule] : schedules()) {
    rates << name;
    for (uint64_t step = 0; step < kSteps; ++step) rates << " " << schedule.at(step);
    rates << "\n";
  }
}

}  // namespace
}  // namespace shoal

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: optimizers_trace <output folder>\n");
    return 2;
  }
  const auto done = shoal::call_user("optimizers_trace", [&] { shoal::trace(argv[1]); });
  if (done) return 0;
  std::fprintf(stderr, "%s\n", done.error().message().c_str());
  return shoal::exit_status(done.error().kind());
}
