// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the event files of model_dir say of a training as a whole: its hyper-parameters, and the model's graph.
#include "shoal/monitor/event_writer.h"
#include "train/train_scope.h"

namespace shoal {

/// Called once per start, by the task that leads, where it writes events. Hyper-parameters are the program's flags and the
/// Estimator's params; of one name, where "-" and "_" are one, the flag counts. A graph that is too large for an event is left out, with a line in the log.
Result<void> write_session_start(TrainScope& scope, const Graph& graph, monitor::EventWriter& events);

}  // namespace shoal
