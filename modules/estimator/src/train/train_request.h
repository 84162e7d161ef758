// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The request for one training run, and its outcome.
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
  std::optional<int64_t> steps;      ///< How many steps to train, counted from the step at which this start begins.
  std::vector<std::shared_ptr<Hook>> hooks;
  std::vector<std::shared_ptr<CheckpointListener>> listeners;
  /// The listener that makes its last evaluation after the job has ended; null: there is none.
  LocalEvaluation* last_evaluation = nullptr;
  /// The listener that makes up for the last evaluation of an earlier start, if this start has nothing to train. Null: none.
  LocalEvaluation* missed_evaluation = nullptr;
  /// Another input, which tells the types of features and labels if the training input turns out to be empty. Null: none.
  const InputFn* types_from = nullptr;
  /// If there is something to train, this is called once before the first step, on the compute thread. An error ends the
  /// task. May be empty.
  std::function<Result<void>()> before_training = {};
  bool write_end_mark = false;
  /// True: if the checkpoint's position is the end of the input, training begins a new pass. For programs that call train()
  /// once for each pass. Must be false in a job that may be restarted, since it would then repeat batches.
  bool new_pass_at_end = false;
  /// The leading trainer returns its last weights in TrainOutcome::weights. For calls with checkpoints off.
  bool keep_weights = false;
};

struct TrainOutcome {
  /// True if there was nothing to train when this task came, since max_steps was reached or the run had been interrupted.
  /// Then input_fn was not called.
  bool nothing_to_do = false;
  uint64_t global_step = 0;
  double seconds = 0;
  int64_t examples = 0;
  std::optional<double> loss = {};  ///< The loss of the last step.
  bool interrupted = false;
  std::optional<int64_t> seed = {};                    ///< The seed of the run; nothing if this task never learned it.
  std::shared_ptr<const TrainedWeights> weights = {};  ///< The last weights. Null: not asked for, or nothing was trained.
};

}  // namespace shoal
