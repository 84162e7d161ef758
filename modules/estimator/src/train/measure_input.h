// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads what is trained on, without training: the flag --measure-input of programs.
#include "shoal/estimator/estimator.h"
#include "shoal/estimator/input_fn.h"
#include "shoal/estimator/task_host.h"

namespace shoal {

/// Opens `input_fn` as a training would, waits for the first batch, reads further ones for request.seconds, and writes to request.out
/// how fast they came, what each stage of the pipeline cost, and which one to change. An input that ends before is told as such.
/// FailedPrecondition in a task of a cluster; InvalidArgument for an input without batches; otherwise the errors of the input.
Result<void> measure_input(const Estimator& estimator, const InputFn& input_fn, MeasureInput& request);

}  // namespace shoal
