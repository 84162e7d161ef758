#pragma once
/// Predictions for a file, in the place of training: the flag --predict of programs.
#include "shoal/estimator/estimator.h"
#include "shoal/estimator/input_fn.h"
#include "shoal/estimator/task_host.h"

namespace shoal {

/// Writes what the newest checkpoint predicts for the rows of the file, which `read` makes features of. FailedPrecondition
/// where the program gave no such function, and in a task of a cluster; NotFound without a checkpoint.
Result<void> predict_file(const Estimator& estimator, const PredictInput& read, PredictFile& request);

}  // namespace shoal
