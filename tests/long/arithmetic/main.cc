// SPDX-License-Identifier: Apache-2.0
// Trains one of four small models, and prints one hash of all that a training leaves: variables, moving averages, slots. With the
// backend `portable` it is the same on every machine (docs/arithmetic.md).
#include <cinttypes>
#include <cstdio>
#include <string>
#include <vector>

#include "../../cluster/processes/checkpoint_bits.h"
#include "shoal/base/random.h"
#include "shoal/estimator/run.h"
#include "shoal/estimator/train_and_evaluate.h"
#include "shoal/nn/conv2d.h"
#include "shoal/nn/dense.h"
#include "shoal/nn/dropout.h"
#include "shoal/nn/embedding.h"
#include "shoal/nn/flatten.h"
#include "shoal/nn/head.h"
#include "shoal/nn/normalization.h"
#include "shoal/nn/optimizers.h"
#include "shoal/nn/pooling.h"
#include "shoal/nn/recurrent.h"
#include "shoal/nn/schedules.h"
#include "shoal/nn/transformer.h"

namespace {

namespace nn = shoal::nn;

constexpr int64_t kSide = 12, kIds = 50, kLength = 9, kClasses = 5;
constexpr uint64_t kScheduled = 300;  // Steps of the schedule, whatever --steps says: a run may be cut in two.

const shoal::ProgramInfo kProgram{
    .description = "arithmetic: trains a small model, and prints a hash of its weights",
    .flags = {{"model", "convolutions, lstm, transformer or table", std::string("convolutions"), {}},
              {"each", "Print a hash of each variable, too, to find the first one that differs", false, {}}},
    .steps = 300,
    .batch = 8,
    .save_checkpoints_steps = 50};

shoal::Value logits_of(const shoal::Features& features, shoal::Mode mode, const std::string& model) {
  if (model == "convolutions") {
    shoal::Value x = nn::conv2d(features["image"], {.filters = 8, .kernel = 3, .padding = shoal::Padding::same()});
    x = nn::batch_norm(x, mode, {.activation = nn::Activation::kRelu});
    x = nn::conv2d(x, {.filters = 16, .kernel = 3, .strides = 2, .padding = shoal::Padding::same()});
    x = nn::dropout(nn::flatten(nn::batch_norm(x, mode, {.activation = nn::Activation::kRelu})), mode, {.rate = 0.2});
    return nn::dense(x, {.units = kClasses});
  }
  shoal::Value x = nn::embedding(features["ids"], {.ids = kIds, .dimension = 16});
  if (model == "table")
    return nn::dense(nn::dense(nn::flatten(x), {.units = 24, .activation = nn::Activation::kTanh}), {.units = kClasses});
  if (model == "lstm") return nn::dense(nn::lstm(x, {.units = 32}).last_hidden, {.units = kClasses});
  x = nn::position_embedding(x);
  for (int block = 0; block < 2; ++block) x = nn::transformer_block(x, mode, {.heads = 4, .dropout = 0.1, .causal = true});
  return nn::dense(nn::flatten(nn::layer_norm(x)), {.units = kClasses});
}

nn::Optimizer optimizer_of(const std::string& model) {
  const auto rate = [](double initial) {
    return nn::warm_up(nn::cosine_decay({.initial = initial, .decay_steps = kScheduled}), {.steps = 20});
  };
  if (model == "convolutions") return nn::sgd({.learning_rate = rate(0.05), .momentum = 0.9}).clip_by_global_norm(1);
  return nn::adam({.learning_rate = rate(0.01)}).clip_by_global_norm(1);
}

shoal::EstimatorSpec classes(const shoal::Features& features, const shoal::Labels& labels, shoal::Mode mode,
                             const shoal::Params& params, const shoal::RunConfig&) {
  const std::string model = params.get_string("model");
  nn::HeadInput input{.mode = mode, .labels = labels, .logits = logits_of(features, mode, model)};
  if (mode == shoal::Mode::kTrain) input.optimizer = optimizer_of(model);
  return nn::multi_class_head({.n_classes = kClasses})->build(input);
}

/// Images of noise with a bright row, and sequences of ids; the label is the row, and what the first ids say.
shoal::data::Dataset drawn(const std::string& model, int64_t count, uint64_t seed) {
  shoal::RandomStream random(seed);
  shoal::Tensor labels(shoal::DType::kInt64, {count});
  for (int64_t& label : labels.mutable_as<int64_t>()) label = int64_t(random.below(kClasses));
  if (model == "convolutions") {
    shoal::Tensor images(shoal::DType::kFloat32, {count, kSide, kSide, 1});
    float* pixel = images.mutable_as<float>().data();
    for (const int64_t label : labels.as<int64_t>()) {
      for (int64_t i = 0; i < kSide * kSide; ++i) *pixel++ = random.next_float() + (i / kSide == 2 * label ? 0.5f : 0.0f);
    }
    return shoal::data::Dataset::from_tensor_slices({{"image", images}}, labels);
  }
  shoal::Tensor ids(shoal::DType::kInt64, {count, kLength});
  for (int64_t i = 0; i < count * kLength; ++i) {
    const int64_t label = labels.as<int64_t>()[size_t(i / kLength)];
    ids.mutable_as<int64_t>()[size_t(i)] =
        i % 3 == 0 ? kClasses * int64_t(random.below(kIds / kClasses)) + label : int64_t(random.below(kIds));
  }
  return shoal::data::Dataset::from_tensor_slices({{"ids", ids}}, labels);
}

/// Of the last checkpoint, on the task that saves.
class Hash final : public shoal::CheckpointListener {
 public:
  Hash(uint64_t last, bool each) : last_(last), each_(each) {}
  bool after_save(shoal::RunContext& run, uint64_t global_step, const std::string& prefix) override {
    if (global_step != last_) return false;
    const auto bits = shoal::testing::checkpoint_bits(run.env().storage(), prefix);
    for (const auto& variable : bits.variables) {
      if (each_) std::printf("%016" PRIx64 " %s\n", uint64_t(variable.bits), variable.name.c_str());
    }
    std::printf("hash of step %" PRIu64 ": %016" PRIx64 " of %zu variables\n", global_step, uint64_t(bits.all),
                bits.variables.size());
    return false;
  }

 private:
  uint64_t last_;
  bool each_;
};

void train(const shoal::RunConfig& config, const shoal::CommandLine& line) {
  const std::string model = line.flags.get_string("model");
  const auto training = [model, batch = line.batch] { return drawn(model, 400, 1).shuffle(400).repeat().batch(batch); };
  const auto test = [model] { return drawn(model, 40, 2).batch(40); };
  shoal::Estimator estimator(classes, config, {{"model", model}});
  shoal::train_and_evaluate(
      estimator,
      {.input_fn = training,
       .max_steps = line.steps,
       .saving_listeners = {std::make_shared<Hash>(uint64_t(*line.steps), line.flags.get_bool("each"))}},
      {.input_fn = test, .start_delay_secs = 0});
}

}  // namespace

int main(int argc, char** argv) {
  return shoal::run(argc, argv, kProgram,
                    [](const shoal::RunConfig& config, const shoal::CommandLine& line) { train(config, line); });
}
