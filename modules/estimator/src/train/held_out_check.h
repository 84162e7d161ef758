// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Whether what a call of train_and_evaluate evaluates on is held out from its training, as far as datasets can tell.
#include "shoal/base/environment.h"
#include "shoal/estimator/input_fn.h"

namespace shoal {

/// Replaces both functions by ones that do the same, and that warn once if the two datasets take parts by position (take, skip)
/// behind one shuffle whose order changes: the evaluation would then measure elements that were trained on. Neither function is
/// called for this: a task that opens only one of the two inputs learns nothing. `env` outlives the functions.
void warn_if_not_held_out(Environment& env, InputFn& training, InputFn& evaluation);

}  // namespace shoal
