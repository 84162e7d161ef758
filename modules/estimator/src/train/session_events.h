// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Writes to the event files of model_dir what concerns a whole training: its hyper-parameters, and the model's graph.
#include "shoal/monitor/event_writer.h"
#include "train/train_scope.h"

namespace shoal {

/// Called once per start by the leading task if it writes events. Hyper-parameters are program flags and Estimator params;
/// a flag hides the param of its name ("-" equals "_"). Too large a graph is left out, which is logged.
Result<void> write_session_start(TrainScope& scope, const Graph& graph, monitor::EventWriter& events);

}  // namespace shoal
