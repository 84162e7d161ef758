// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A small real model on small real data, for jobs in simulated worlds.
#include <functional>
#include <memory>
#include <vector>

#include "shoal/base/random.h"
#include "shoal/estimator/train_and_evaluate.h"
#include "shoal/nn/dense.h"
#include "shoal/nn/head.h"

namespace shoal::testing {

/// Two numbers in, one of three classes out, of which the data has two.
inline EstimatorSpec small_model(const Features& features, const Labels& labels, Mode mode, const Params&,
                                 const RunConfig&) {
  Value x = nn::dense(features.single(), {.units = 4, .activation = nn::Activation::kRelu});
  nn::HeadInput input{.mode = mode, .labels = labels, .logits = nn::dense(x, {.units = 3})};
  if (mode == Mode::kTrain) input.optimizer = nn::sgd({.learning_rate = 0.1, .momentum = 0.9});
  return nn::multi_class_head({.n_classes = 3})->build(input);
}

inline data::Dataset small_data(int64_t count, uint64_t seed) {
  Tensor points(DType::kFloat32, {count, 2}), labels(DType::kInt64, {count});
  RandomStream random(seed);
  for (float& x : points.mutable_as<float>()) x = 2 * random.next_float() - 1;
  for (size_t i = 0; i < size_t(count); ++i) {
    labels.mutable_as<int64_t>()[i] = points.as<float>()[2 * i] > points.as<float>()[2 * i + 1] ? 1 : 0;
  }
  return data::Dataset::from_tensor_slices(points, labels);
}

inline data::Dataset training_data() { return small_data(64, 1).shuffle(64).repeat().batch(8); }
inline data::Dataset test_data() { return small_data(16, 2).batch(8); }

/// The program of every task of a job.
struct SmallJob {
  std::optional<int64_t> max_steps = 60;
  int64_t passes = 0;                 // How often chief and workers go over their data; 0 is for ever.
  std::vector<int64_t> batches = {};  // By trainer, where inputs end at different times.
  int64_t throttle_secs = 0;
  int64_t start_delay_secs = 0;
  std::vector<std::shared_ptr<Exporter>> exporters = {};
  std::vector<std::shared_ptr<CheckpointListener>> listeners = {};
  std::shared_ptr<EvalListener> eval_listener = nullptr;
  std::function<std::vector<std::shared_ptr<Hook>>()> hooks = {};  // Makes those of each task.

  void operator()(RunConfig config) const {
    const InputFn training = [passes = passes, batches = batches](const InputContext& context) {
      const auto trainer = size_t(context.config.trainer_index());
      if (!batches.empty()) return small_data(64, 1 + trainer).repeat().batch(8).take(batches.at(trainer));
      return passes > 0 ? small_data(64, 1).repeat(passes).batch(8) : training_data();
    };
    Estimator estimator(small_model, std::move(config));
    train_and_evaluate(estimator,
                       {.input_fn = training,
                        .max_steps = max_steps,
                        .hooks = hooks ? hooks() : std::vector<std::shared_ptr<Hook>>(),
                        .saving_listeners = listeners},
                       {.input_fn = test_data,
                        .throttle_secs = throttle_secs,
                        .start_delay_secs = start_delay_secs,
                        .exporters = exporters,
                        .listener = eval_listener});
  }
};

inline RunConfigOptions every_steps(int64_t steps) {
  RunConfigOptions config;
  config.save_checkpoints_steps = steps;
  config.random_seed = 3;
  return config;
}

/// What an evaluator of a cluster with one server is told.
inline constexpr const char* kEvaluatorConfig =
    R"({"cluster": {"chief": ["chief-0:2222"], "ps": ["ps-0:2222"]}, "task": {"type": "evaluator", "index": 0}})";

}  // namespace shoal::testing
