// SPDX-License-Identifier: Apache-2.0
// Trains one of several small networks, and says at every step what bits all variables have: those of the model, moving
// averages, and the optimizer's slots.
#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "checkpoint_bits.h"
#include "shoal/base/random.h"
#include "shoal/estimator/run.h"
#include "shoal/estimator/task_host.h"
#include "shoal/estimator/train_and_evaluate.h"
#include "shoal/nn/dense.h"
#include "shoal/nn/dropout.h"
#include "shoal/nn/embedding.h"
#include "shoal/nn/head.h"
#include "shoal/nn/normalization.h"
#include "shoal/nn/optimizers.h"

namespace {

namespace nn = shoal::nn;

constexpr int64_t kCells = 64;  // The table is of eight by eight pieces of the plane.
constexpr int64_t kUnits = 24;

const shoal::ProgramInfo kProgram{
    .description = "bits: trains, and says what bits the variables have at every step",
    .flags = {{"network", "dense, batch_norm, dropout or table", std::string("dense"), {}},
              {"optimizer", "momentum, adam or lamb, all with clipping by the global norm", std::string("adam"), {}},
              {"step-ms", "Least time of a step, in milliseconds, as if the network were a large one", int64_t(0), {}}},
    .save_checkpoints_steps = 1};

shoal::Value hidden_layers(const shoal::Features& features, shoal::Mode mode, const std::string& network) {
  const shoal::Value points = features["points"];
  if (network == "table") {
    const shoal::Value rows = nn::embedding(features["cells"], {.ids = kCells, .dimension = kUnits});
    return nn::dense(rows, {.units = kUnits, .activation = nn::Activation::kRelu});
  }
  if (network == "batch_norm") return nn::batch_norm(nn::dense(points, {.units = kUnits}), mode);
  const shoal::Value x = nn::dense(points, {.units = kUnits, .activation = nn::Activation::kRelu});
  return network == "dropout" ? nn::dropout(x, mode, {.rate = 0.3}) : x;
}

nn::Optimizer optimizer_of(const std::string& name) {
  constexpr double kNormMax = 0.5;
  if (name == "momentum") return nn::sgd({.learning_rate = 0.1, .momentum = 0.9}).clip_by_global_norm(kNormMax);
  if (name == "lamb") return nn::lamb({.learning_rate = 0.02}).clip_by_global_norm(kNormMax);
  return nn::adam({.learning_rate = 0.02}).clip_by_global_norm(kNormMax);
}

shoal::EstimatorSpec rings(const shoal::Features& features, const shoal::Labels& labels, shoal::Mode mode,
                           const shoal::Params& params, const shoal::RunConfig&) {
  const shoal::Value x = hidden_layers(features, mode, params.get_string("network"));
  nn::HeadInput input{.mode = mode, .labels = labels, .logits = nn::dense(x, {.units = 3})};
  if (mode == shoal::Mode::kTrain) input.optimizer = optimizer_of(params.get_string("optimizer"));
  return nn::multi_class_head({.n_classes = 3})->build(input);
}

shoal::data::Dataset random_points(int64_t count, uint64_t seed) {
  shoal::Tensor points(shoal::DType::kFloat32, {count, 2}), cells(shoal::DType::kInt64, {count}),
      labels(shoal::DType::kInt64, {count});
  shoal::RandomStream random(seed);
  for (float& x : points.mutable_as<float>()) x = 2 * random.next_float() - 1;
  for (size_t i = 0; i < size_t(count); ++i) {
    const auto point = points.as<float>().subspan(2 * i, 2);
    labels.mutable_as<int64_t>()[i] = std::min(2, int(2.5f * std::hypot(point[0], point[1])));
    cells.mutable_as<int64_t>()[i] = 8 * int64_t(4 * point[0] + 4) + int64_t(4 * point[1] + 4);
  }
  return shoal::data::Dataset::from_tensor_slices({{"points", points}, {"cells", cells}}, labels);
}

/// Reads each checkpoint back, on the task that saves.
class Bits final : public shoal::CheckpointListener {
 public:
  bool after_save(shoal::RunContext& run, uint64_t global_step, const std::string& prefix) override {
    const auto bits = shoal::testing::checkpoint_bits(run.env().storage(), prefix);
    char text[80];
    std::snprintf(text, sizeof text, "bits of step %" PRIu64 ": %016" PRIx64 " of %zu variables", global_step,
                  uint64_t(bits.all), bits.variables.size());
    run.log().info(text);
    return false;
  }
};

class Pace final : public shoal::Hook {
 public:
  explicit Pace(int64_t step_ms) : step_(step_ms) {}
  void after_step(shoal::RunContext&, const shoal::StepValues&) override { std::this_thread::sleep_for(step_); }

 private:
  const std::chrono::milliseconds step_;
};

/// Shards travel in parts, over sockets while other gradients are computed, as large ones do.
shoal::RunConfig with_parts(const shoal::RunConfig& config) {
  auto host = std::make_shared<shoal::TaskHost>(config.host() ? *config.host() : *value_or_raise(shoal::process_host()));
  host->own_part_bytes = 1;
  return config.with_host(std::move(host));
}

void train(const shoal::RunConfig& config, const shoal::CommandLine& line) {
  const auto training = [batch = line.batch] { return random_points(400, 1).shuffle(400).repeat().batch(batch); };
  const auto test = [] { return random_points(100, 2).batch(100); };
  shoal::Estimator estimator(
      rings, config, {{"network", line.flags.get_string("network")}, {"optimizer", line.flags.get_string("optimizer")}});
  const auto pace = std::make_shared<Pace>(line.flags.get_int("step-ms"));
  shoal::train_and_evaluate(
      estimator,
      {.input_fn = training, .max_steps = line.steps, .hooks = {pace}, .saving_listeners = {std::make_shared<Bits>()}},
      {.input_fn = test, .start_delay_secs = 0});
}

}  // namespace

int main(int argc, char** argv) {
  return shoal::run(argc, argv, kProgram,
                    [](shoal::RunConfig config, const shoal::CommandLine& line) { train(with_parts(config), line); });
}
