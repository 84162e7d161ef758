// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What is asked of a training, and what comes of it.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "model/trained_weights.h"
#include "shoal/estimator/estimator.h"

namespace shoal {

class LocalEvaluation;

enum class TrainRole : uint8_t { kLocal, kChief, kWorker };

struct TrainRequest {
  const Estimator& estimator;
  const InputFn& input_fn;
  TrainRole role = TrainRole::kLocal;
  std::optional<int64_t> max_steps;  ///< The global step at which training ends.
  std::optional<int64_t> steps;      ///< Steps from the step at start.
  std::vector<std::shared_ptr<Hook>> hooks;
  std::vector<std::shared_ptr<CheckpointListener>> listeners;
  /// One of the listeners, which makes its last evaluation when the job has ended; null: there is none such.
  LocalEvaluation* last_evaluation = nullptr;
  /// Tells the types of an input that turns out to be empty; null: nothing is known then.
  const InputFn* types_from = nullptr;
  /// Called once, on the compute thread, when there is something to train and before the first step; an error ends the task. Empty:
  /// nothing is called.
  std::function<Result<void>()> before_training = {};
  bool write_end_mark = false;
  /// Begin a new pass where the position of the checkpoint is the input's end: a program that calls train() pass by pass. A
  /// job that is merely restarted must not (it would repeat batches).
  bool new_pass_at_end = false;
  /// The leading trainer returns its last weights in TrainOutcome::weights. For calls with checkpoints off.
  bool keep_weights = false;
};

struct TrainOutcome {
  /// True if max_steps was reached, or the run interrupted, before this task came; no input_fn was called.
  bool nothing_to_do = false;
  uint64_t global_step = 0;
  double seconds = 0;
  int64_t examples = 0;
  std::optional<double> loss = {};  ///< Of the last step.
  bool interrupted = false;
  std::optional<int64_t> seed = {};  ///< Of the run. Nothing where this task never learned it.
  std::shared_ptr<const TrainedWeights> weights = {};  ///< Null: not asked for, or nothing was trained.
};

}  // namespace shoal
