// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The training input, and how long to train.
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/estimator/input_fn.h"

namespace shoal {

class CheckpointListener;
class Hook;

/// Usually written in place: train_and_evaluate(estimator, {.input_fn = images, .max_steps = 2000}, ...).
struct TrainSpec {
  /// Called once per training call, on each trainer separately. Required.
  InputFn input_fn = {};
  /// Limit on the global step: absolute, counted over all trainers and over restarts, > 0. None: until the input ends.
  std::optional<int64_t> max_steps = {};
  /// Hooks for every trainer.
  std::vector<std::shared_ptr<Hook>> hooks{};
  /// Listeners that receive news of checkpoints, on the chief (or master, or local process) only.
  std::vector<std::shared_ptr<CheckpointListener>> saving_listeners{};
  /// Reads the FILE of the flag --predict FILE (run.h), in the same way in which the program reads its training data.
  ///
  ///   .predict_input = [unlabelled](const std::string& path) { return Dataset::csv({path}, unlabelled).batch(500); }
  ///
  /// `unlabelled` are the CsvOptions of the training table without labels and without the columns of the labels, which rows
  /// to be predicted do not have (examples/housing makes them).
  PredictInput predict_input = {};

  /// Checks the fields: TypeMismatch without an input function; InvalidArgument for max_steps <= 0, a null hook or a null
  /// listener. train_and_evaluate() calls it before anything else.
  Result<void> check() const;
};

}  // namespace shoal
