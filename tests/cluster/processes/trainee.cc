// SPDX-License-Identifier: Apache-2.0
// What the tests beside it start, kill and start again: a small network that learns in which ring a point of the plane
// lies, with a variable that counts the updates.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>

#include "count_updates.h"
#include "shoal/base/random.h"
#include "shoal/estimator/early_stopping.h"
#include "shoal/estimator/exporter.h"
#include "shoal/estimator/run.h"
#include "shoal/estimator/train_and_evaluate.h"
#include "shoal/nn/dense.h"
#include "shoal/nn/head.h"

namespace {

namespace nn = shoal::nn;

const shoal::ProgramInfo kProgram{
    .description = "trainee: learns rings, and is killed while it does",
    .flags =
        {{"units", "Width of the hidden layer", int64_t(16), {}},
         {"learning-rate", "Of Adam", 0.01, {}},
         {"step-ms", "Least time of a step, in milliseconds, as if the network were a large one", int64_t(0), {}},
         {"stop-above", "Ends the job once an evaluation has an accuracy above this; 1: never", 1.0, {}},
         {"exports", "How many of the latest and of the best models are kept as exports; 0: none is made", int64_t(0), {}},
         {"batches",
          "How many batches the inputs of the chief, worker 0, ... have, as \"120,20,100\"; default: no end",
          std::vector<int64_t>(),
          {}},
         {"hurry", "Once this file is there, steps take no longer than they need", std::string(), {}}},
    .save_checkpoints_steps = 10};

shoal::EstimatorSpec rings(const shoal::Features& points, const shoal::Labels& labels, shoal::Mode mode,
                           const shoal::Params& params, const shoal::RunConfig&) {
  const shoal::Value x =
      nn::dense(points.single(), {.units = params.get_int("units"), .activation = nn::Activation::kRelu});
  nn::HeadInput input{.mode = mode, .labels = labels, .logits = nn::dense(x, {.units = 3})};
  if (mode == shoal::Mode::kTrain) input.optimizer = nn::adam({.learning_rate = params.get_real("learning_rate")});
  shoal::EstimatorSpec spec = nn::multi_class_head({.n_classes = 3})->build(input);
  if (mode == shoal::Mode::kPredict) return spec;
  nn::TrainOp counting = shoal::testing::count_updates(points);
  if (mode == shoal::Mode::kTrain) spec.train_op = nn::group({*spec.train_op, std::move(counting)});
  return spec;
}

shoal::data::Dataset random_points(int64_t count, uint64_t seed) {
  shoal::Tensor points(shoal::DType::kFloat32, {count, 2}), labels(shoal::DType::kInt64, {count});
  shoal::RandomStream random(seed);
  for (float& x : points.mutable_as<float>()) x = 2 * random.next_float() - 1;
  for (size_t i = 0; i < size_t(count); ++i) {
    const auto point = points.as<float>().subspan(2 * i, 2);
    labels.mutable_as<int64_t>()[i] = std::min(2, int(2.5f * std::hypot(point[0], point[1])));
  }
  return shoal::data::Dataset::from_tensor_slices(points, labels);
}

/// Makes steps as long as those of a larger network, and tells of each, until there is reason to hurry.
class Pace final : public shoal::Hook {
 public:
  Pace(int64_t step_ms, std::string hurry) : step_(step_ms), hurry_(std::move(hurry)) {}
  void after_step(shoal::RunContext& run, const shoal::StepValues&) override {
    if (step_.count() == 0 || (!hurry_.empty() && std::filesystem::exists(hurry_))) return;
    run.log().info("at step " + std::to_string(run.global_step()));
    std::this_thread::sleep_for(step_);
  }

 private:
  const std::chrono::milliseconds step_;
  const std::string hurry_;
};

/// How many batches the input of `trainer` has, by the flag; nothing: it has no end.
std::optional<int64_t> batches_of(const std::vector<int64_t>& flag, int trainer) {
  return size_t(trainer) < flag.size() ? std::optional(flag[size_t(trainer)]) : std::nullopt;
}

void train(const shoal::RunConfig& config, const shoal::CommandLine& line) {
  const auto training = [batch = line.batch, flag = line.flags.get_ints("batches")](const shoal::InputContext& context) {
    const int trainer = context.config.trainer_index();
    const auto batches = batches_of(flag, trainer);
    const shoal::data::Dataset points = random_points(1000, 1 + uint64_t(trainer)).shuffle(1000).repeat().batch(batch);
    return batches ? points.take(*batches) : points;
  };
  const auto test = [] { return random_points(200, 2).batch(100); };
  shoal::Estimator estimator(
      rings, config, {{"units", line.flags.get_int("units")}, {"learning_rate", line.flags.get_real("learning-rate")}});
  const auto pace = std::make_shared<Pace>(line.flags.get_int("step-ms"), line.flags.get_string("hurry"));
  const auto enough = shoal::stop_if_higher("accuracy", line.flags.get_real("stop-above"),
                                            {.run_every_secs = std::nullopt, .run_every_steps = 10});
  shoal::EvalSpec evaluation{.input_fn = test, .throttle_secs = line.throttle_secs, .start_delay_secs = 0};
  if (const int64_t kept = line.flags.get_int("exports"); kept > 0) {
    evaluation.exporters = {shoal::latest_exporter("latest", {.exports_to_keep = kept}),
                            shoal::best_exporter("best", {.exports_to_keep = kept})};
  }
  shoal::train_and_evaluate(estimator, {.input_fn = training, .max_steps = line.steps, .hooks = {pace, enough}},
                            evaluation);
}

}  // namespace

int main(int argc, char** argv) {
  return shoal::run(argc, argv, kProgram,
                    [](shoal::RunConfig config, const shoal::CommandLine& line) { train(config, line); });
}
