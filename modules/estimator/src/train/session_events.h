// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Writes to the event files of model_dir what concerns a whole training: its hyper-parameters, and the model's graph.
#include "shoal/monitor/event_writer.h"
#include "train/train_scope.h"

namespace shoal {

/// Writes hyper-parameters (program flags and Estimator params) and the graph. The leading task calls it once per start, if
/// it writes events. A flag replaces a param of the same name ("-" equals "_"). If the graph is too large, logs that.
Result<void> write_session_start(TrainScope& scope, const Graph& graph, monitor::EventWriter& events);

}  // namespace shoal
