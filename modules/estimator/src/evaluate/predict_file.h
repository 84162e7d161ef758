// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Implements the flag --predict of programs: predicts for a file instead of training.
#include "shoal/estimator/estimator.h"
#include "shoal/estimator/input_fn.h"
#include "shoal/estimator/task_host.h"

namespace shoal {

/// Predicts for the rows of request.path with the newest checkpoint, and writes the predictions to request.out. `read`
/// reads the features from the file. FailedPrecondition if `read` is empty, and in a task of a cluster; NotFound without a
/// checkpoint.
Result<void> predict_file(const Estimator& estimator, const PredictInput& read, PredictFile& request);

}  // namespace shoal
