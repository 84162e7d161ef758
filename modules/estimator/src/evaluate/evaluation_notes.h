// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a task that evaluates says once where less was evaluated than one may think, and which field is to be changed
/// (CONTRACT ES-3: the defaults surprise).
#include <string>

#include "evaluate/evaluation.h"
#include "shoal/estimator/eval_spec.h"

namespace shoal {

/// Nothing, unless `steps` ended the evaluation where the input may have had more. An input without an end says nothing
/// either: there `steps` has to end it.
std::optional<std::string> note_on_steps(const Evaluation& evaluation);

/// Why no step but the last one of a training was evaluated.
enum class OnlyLastStep {
  kNoCheckpoint,  ///< There was no other checkpoint of it.
  kStartDelay,    ///< The evaluator had not begun to look.
  kThrottle,      ///< The evaluator's next look was not due yet.
};
std::string note_on_last_step(OnlyLastStep why, const EvalSpec& spec, const RunConfig& config);

}  // namespace shoal
