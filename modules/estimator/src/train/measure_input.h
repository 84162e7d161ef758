// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Implements the flag --measure-input of programs: reads the training input without training.
#include "shoal/estimator/estimator.h"
#include "shoal/estimator/input_fn.h"
#include "shoal/estimator/task_host.h"

namespace shoal {

/// Opens `input_fn` as training does, waits for the first batch, reads further batches for request.seconds, and writes a
/// report to request.out: how fast the batches came, what each stage of the pipeline cost, and which stage to change. The
/// report says if the input ended early. FailedPrecondition in a task of a cluster; InvalidArgument for an input without
/// batches; otherwise the errors of the input.
Result<void> measure_input(const Estimator& estimator, const InputFn& input_fn, MeasureInput& request);

}  // namespace shoal
