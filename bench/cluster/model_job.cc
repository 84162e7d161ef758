// SPDX-License-Identifier: Apache-2.0
// Trains a model of bench/models, in a cluster (as threads or as processes) or in this process alone, on random batches,
// and says how long a step took. Shoal's side of bench/peers/compare_distributed; bench/cluster/worth compares such jobs.
// `--model table` is one embedding of `--table-rows` rows of 16 features, of which an example has eight, and Adagrad: for
// bench/cluster/large_table.
//
//   model_job --model NAME --batch N --steps N [--cluster ps:1,worker:1] [--strategy sync] ...; TF_CONFIG
//
// The chief ends with one line of JSON on standard output, {"steps", "ms"}: of those after the first
// fifth, and the time of each.
#include <cstdio>

#include "latencies.h"
#include "models.h"
#include "shoal/base/random.h"
#include "shoal/estimator/run.h"
#include "shoal/estimator/train_and_evaluate.h"
#include "shoal/graph/ops.h"
#include "shoal/nn/dense.h"
#include "shoal/nn/embedding.h"
#include "shoal/nn/losses.h"
#include "shoal/nn/optimizers.h"

namespace {

constexpr int kBatches = 8;  // Different ones, taken in turn.

const shoal::ProgramInfo kProgram{
    .description = "model_job: trains a model of bench/models, and says how fast",
    .flags = {{"model", "Which", std::string("mlp"), {}}, {"table-rows", "Of the model table", int64_t(10'000), {}}},
    .save_checkpoints_steps = 1'000'000'000};

constexpr int64_t kIdsPerExample = 8;

shoal::EstimatorSpec table(const shoal::Features& features, const shoal::Labels& labels, shoal::Mode mode,
                           const shoal::Params& params, const shoal::RunConfig&) {
  namespace nn = shoal::nn;
  shoal::EstimatorSpec spec;
  spec.mode = mode;
  const shoal::Value rows =
      nn::embedding(features.single(), {.ids = params.get_int("rows"), .dimension = 16, .initializer = nn::zeros()});
  const shoal::Value y = nn::dense(shoal::ops::reduce_sum(rows, {.axes = {1}}), {.units = 1});
  spec.loss = nn::reduce_loss(nn::squared_error({.labels = labels.single(), .predictions = y}));
  if (mode == shoal::Mode::kTrain) spec.train_op = nn::adagrad({.learning_rate = 0.05}).minimize(spec.loss);
  return spec;
}

shoal::data::Dataset random_rows(int64_t batch, int64_t rows) {
  const int64_t examples = 64 * batch;
  shoal::Tensor ids(shoal::DType::kInt64, {examples, kIdsPerExample}), labels(shoal::DType::kFloat32, {examples, 1});
  shoal::RandomStream random(1);
  for (int64_t& id : ids.mutable_as<int64_t>()) id = int64_t(random.below(uint64_t(rows)));
  for (float& label : labels.mutable_as<float>()) label = random.next_float();
  return shoal::data::Dataset::from_tensor_slices(ids, labels).shuffle(examples).repeat().batch(batch);
}

class Speed final : public shoal::Hook {
 public:
  explicit Speed(int64_t steps) : first_(uint64_t(steps) / 5) {}
  void after_step(shoal::RunContext& run, const shoal::StepValues&) override {
    if (!run.is_chief() || run.global_step() < first_) return;
    if (begin_ == 0) {
      begin_ = shoal::bench::now_seconds();
      begin_step_ = run.global_step();
    }
    end_ = shoal::bench::now_seconds();
    end_step_ = run.global_step();
  }
  void end(shoal::RunContext& run) override {
    if (!run.is_chief() || end_step_ == begin_step_) return;
    const auto steps = double(end_step_ - begin_step_);
    std::printf("{\"steps\": %.0f, \"ms\": %.6f}\n", steps, (end_ - begin_) * 1e3 / steps);
    std::fflush(stdout);
  }

 private:
  const uint64_t first_;
  double begin_ = 0, end_ = 0;
  uint64_t begin_step_ = 0, end_step_ = 0;
};

void train(const shoal::RunConfig& config, const shoal::CommandLine& line) {
  const std::string name = line.flags.get_string("model");
  const int64_t rows = line.flags.get_int("table-rows");
  const auto train_on = [&](const shoal::ModelFn& model_fn, const shoal::InputFn& input) {
    shoal::Estimator estimator(model_fn, config, {{"rows", rows}});
    const auto speed = std::make_shared<Speed>(line.steps.value_or(0));
    if (config.num_ps_replicas() == 0) {  // The models know training only, and a job of one process would evaluate.
      estimator.train(input, {.max_steps = line.steps, .hooks = {speed}});
      return;
    }
    shoal::train_and_evaluate(estimator, {.input_fn = input, .max_steps = line.steps, .hooks = {speed}},
                              {.input_fn = input, .steps = 1});
  };
  if (name == "table") {
    return train_on(table, [batch = line.batch, rows] { return random_rows(batch, rows); });
  }
  const shoal::bench::ModelEntry& model = shoal::bench::find_model(name);
  train_on(model.model_fn, [&model, batch = line.batch](const shoal::InputContext& context) {
    return shoal::bench::batches(model, batch, kBatches)
        .shard(context.config.num_trainers(), context.config.trainer_index());
  });
}

}  // namespace

int main(int argc, char** argv) {
  return shoal::run(argc, argv, kProgram,
                    [](shoal::RunConfig config, const shoal::CommandLine& line) { train(config, line); });
}
