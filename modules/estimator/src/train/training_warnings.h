// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What whoever leads says once about what its user may not have meant.
#include "model/checkpoint_layout.h"
#include "shoal/base/log.h"
#include "shoal/data/dataset.h"
#include "shoal/estimator/run_config.h"
#include "shoal/nn/train_op.h"

namespace shoal {

/// Training input that a cluster would waste (CONTRACT DS-17, DS-18, OE-4).
void warn_about_input(Logger& log, const data::Dataset& dataset, const RunConfig& config, bool has_max_steps);
/// What the checkpoint has and the model does not take, as after a change of optimizer: the next checkpoint will not have it.
void warn_about_leavings(Logger& log, const CheckpointSource& checkpoint, const cluster::ShardPlan& plan);

/// Warns if several trainers that do not wait for each other assign to weights.
void warn_about_assignments(Logger& log, const nn::TrainOp& train_op, const Graph& graph, const RunConfig& config);

}  // namespace shoal
