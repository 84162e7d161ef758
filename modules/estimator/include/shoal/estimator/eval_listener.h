// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A say in how long evaluation goes on: early stopping by metrics, a budget of evaluations, an end from outside.
#include <cstdint>
#include <string>

#include "shoal/estimator/exporter.h"

namespace shoal {

/// What became of one look for a checkpoint to evaluate.
enum class EvalStatus : uint8_t {
  kEvaluated,
  kMissing,  ///< There is none yet, or the newest was deleted or found damaged while it was being read.
  kNotNew,   ///< The newest one is evaluated already.
};

struct EvalLook {
  EvalStatus status = EvalStatus::kMissing;
  std::string checkpoint_path;  ///< The prefix of the evaluated checkpoint ("m/model.ckpt-200"); empty if none was.
  Metrics metrics;              ///< What the evaluation gave; empty if there was none.
};

/// Asked before each look for a checkpoint, and told after it (CONTRACT EV-15). The evaluator looks again and again until
/// the job has ended; in local mode each checkpoint of training but the first is a look. Where it answers false, an
/// evaluator ends, with status 0, and training goes on; in local mode training ends (reason stop_requested), since nothing
/// would evaluate it any more.
///
/// Called on the thread of the task's hooks; what it throws ends the task. It serves one task: make it inside the program's
/// body, as hooks are.
class EvalListener {
 public:
  virtual ~EvalListener() = default;
  /// False to end now, without this look, and without an evaluation of the last step. In local mode it is also asked
  /// about checkpoints that the throttle skips then, and when training ends with a step that has not been evaluated.
  virtual bool before_eval() { return true; }
  /// Called after an evaluation and its exports, or a look that found nothing to evaluate (by an evaluator only). False
  /// to end now.
  virtual bool after_eval([[maybe_unused]] const EvalLook& look) { return true; }
};

}  // namespace shoal
