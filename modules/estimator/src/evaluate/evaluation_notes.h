// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Notes for the log if less was evaluated than the user may expect. Each is logged once, and names the option to change.
/// By default an evaluation covers only 100 batches, and at most one evaluation starts per ten minutes.
#include <string>

#include "evaluate/evaluation.h"
#include "shoal/estimator/eval_spec.h"

namespace shoal {

/// A note if `steps` ended the evaluation although the input may have had more batches; else nothing. There is no note for
/// an endless input, where `steps` has to end the evaluation.
std::optional<std::string> note_on_steps(const Evaluation& evaluation);

/// The reason why only the last step of a training was evaluated.
enum class OnlyLastStep {
  kNoCheckpoint,  ///< Training wrote no checkpoint before the last step.
  kStartDelay,    ///< Training ended before the evaluator began to search for checkpoints.
  kThrottle,      ///< Training ended before the evaluator's next search for a checkpoint was due.
};
std::string note_on_last_step(OnlyLastStep why, const EvalSpec& spec, const RunConfig& config);

}  // namespace shoal
