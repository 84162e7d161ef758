// SPDX-License-Identifier: Apache-2.0
#include "train/training_warnings.h"

#include <algorithm>

namespace shoal {
namespace {

constexpr size_t kNamesMax = 4;  // The most names in a warning; further ones are counted.

}  // namespace

void warn_about_input(Logger& log, const data::Dataset& dataset, const RunConfig& config, bool has_max_steps) {
  const int trainers = config.num_trainers();
  if (trainers <= 1) return;
  if (!dataset.has_unseeded_random() && !dataset.depends_on_trainer()) {
    log.warning_once("same input on all trainers",
                     "the training input is the same, in the same order, on all " + std::to_string(trainers) +
                         " trainers: they compute the same gradients and nothing is gained; add a shuffle without "
                         "a seed, or shard(num_trainers, trainer_index)");
  }
  if (dataset.unseeded_random_before_shard()) {
    log.warning_once(
        "shard behind shuffle",
        "the training input has another random order, or other elements, on each trainer before it is divided by "
        "shard: some elements are lost and others repeat; put shard before shuffle and its like, or give "
        "these a seed");
  }
  // Whether a generator, or what flat_map makes of files, ends is not known; without max_steps the job ends only if it does.
  if (!has_max_steps && !dataset.has_shard() && dataset.is_finite() != false) {
    log.warning_once("a pass for each trainer",
                     "each of the " + std::to_string(trainers) +
                         " trainers makes its own pass over the input, so the "
                         "model is trained on as many passes; set max_steps, or shard the input by trainer");
  }
}

void warn_about_leavings(Logger& log, const CheckpointSource& checkpoint, const cluster::ShardPlan& plan) {
  const std::vector<std::string> names = checkpoint.left_out_of(plan);
  if (names.empty()) return;
  std::string text = names[0];
  for (size_t i = 1; i < std::min(names.size(), kNamesMax); ++i) text += ", " + names[i];
  if (names.size() > kNamesMax) text += " and " + std::to_string(names.size() - kNamesMax) + " more";
  log.warning_once("left out", "checkpoint " + checkpoint.prefix() + " has " + text +
                                   ", which this model does not take and the next checkpoint will not "
                                   "have: the model or its optimizer changed since");
}

void warn_about_assignments(Logger& log, const nn::TrainOp& train_op, const Graph& graph, const RunConfig& config) {
  if (config.num_trainers() <= 1 || config.update_strategy().kind != UpdateStrategyKind::kAsync) return;
  for (const nn::VariableUpdate& update : train_op.updates) {
    const Variable* variable = graph.find_variable(update.variable);
    if (update.rule.kind != nn::UpdateRule::Kind::kAssign || !variable || !variable->trainable) continue;
    return log.warning_once("assigned",
                            "the train op assigns " + update.variable + ", and " + std::to_string(config.num_trainers()) +
                                " trainers that do not wait for each other train it: each assignment undoes what the "
                                "others did since its batch began; use nn::descend or nn::assign_add, or --strategy sync");
  }
}

}  // namespace shoal
