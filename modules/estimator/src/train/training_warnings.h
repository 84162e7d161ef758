// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Warnings about configurations that a user may not intend. The leading task logs each once.
#include "model/checkpoint_layout.h"
#include "shoal/base/log.h"
#include "shoal/data/dataset.h"
#include "shoal/estimator/run_config.h"
#include "shoal/nn/train_op.h"

namespace shoal {

/// Warns of three kinds of input that do not suit a cluster: (1) all trainers read the same elements in the same order;
/// (2) each trainer shuffles in an order of its own before shard() divides the elements; (3) each trainer makes its own
/// pass over all elements, without max_steps.
void warn_about_input(Logger& log, const data::Dataset& dataset, const RunConfig& config, bool has_max_steps);
/// Warns of tensors that the checkpoint has and the model lacks, as after a change of the optimizer: the next checkpoint
/// will not have them.
void warn_about_leavings(Logger& log, const CheckpointSource& checkpoint, const cluster::ShardPlan& plan);

/// Warns if several trainers that do not wait for each other assign to weights.
void warn_about_assignments(Logger& log, const nn::TrainOp& train_op, const Graph& graph, const RunConfig& config);

}  // namespace shoal
