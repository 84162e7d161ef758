// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A listener that may end evaluation: for early stopping by metrics, a budget of evaluations, or a request from outside.
#include <cstdint>
#include <string>

#include "shoal/estimator/exporter.h"

namespace shoal {

/// The outcome of one search for a checkpoint to evaluate.
enum class EvalStatus : uint8_t {
  kEvaluated,
  kMissing,  ///< There is no checkpoint yet, or the newest one was deleted or found damaged during the read.
  kNotNew,   ///< The newest checkpoint has been evaluated already.
};

struct EvalOutcome {
  EvalStatus status = EvalStatus::kMissing;
  std::string checkpoint_path;  ///< The prefix of the evaluated checkpoint ("m/model.ckpt-200"); empty if there is none.
  Metrics metrics;              ///< The results of the evaluation; empty if there was none.
};

/// Called before and after each search for a checkpoint. The evaluator searches again and again until the job has ended; in
/// local mode each checkpoint of training except the first counts as a search. If the listener returns false, an evaluator
/// ends with status 0 while training goes on. In local mode training ends, too (reason stop_requested), since no further
/// evaluation would follow.
///
/// The calls come on the thread of the task's hooks. An exception of the listener ends the task. A listener serves one
/// task: make it inside the program's body, as hooks are.
class EvalListener {
 public:
  virtual ~EvalListener() = default;
  /// Returns false to end now, before this search and without evaluating the last step. In local mode this function is
  /// also called for checkpoints that are then skipped because of throttle_secs, and when training ends with a step that
  /// has not been evaluated.
  virtual bool before_eval() { return true; }
  /// Called after an evaluation and its exports, and in an evaluator also after a search that found nothing to evaluate.
  /// Returns false to end the evaluator (in local mode, training) now.
  virtual bool after_eval([[maybe_unused]] const EvalOutcome& look) { return true; }
};

}  // namespace shoal
