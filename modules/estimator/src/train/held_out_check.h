// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Checks whether the evaluation data of a train_and_evaluate() call are held out from training, as far as the datasets
/// show it.
#include "shoal/base/environment.h"
#include "shoal/estimator/input_fn.h"

namespace shoal {

/// Replaces both input functions by wrappers that return the same datasets. The wrappers warn once if both datasets are
/// parts of one shuffled dataset, chosen by position (take, skip), and the order of the shuffle changes. The evaluation
/// would then use elements that were trained on. The check does not open an input by itself, so a task that opens only one
/// of the two never warns. `env` outlives the functions.
void warn_if_not_held_out(Environment& env, InputFn& training, InputFn& evaluation);

}  // namespace shoal
