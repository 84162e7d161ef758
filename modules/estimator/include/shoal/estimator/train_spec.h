// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What to train on, and for how long.
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/estimator/input_fn.h"

namespace shoal {

class CheckpointListener;
class Hook;

/// Made in place: train_and_evaluate(estimator, {.input_fn = images, .max_steps = 2000}, ...).
struct TrainSpec {
  /// Called once per training call, on each trainer separately. Required.
  InputFn input_fn = {};
  /// Limit on the global step: absolute, counted over all trainers and over restarts, > 0. None: until the input ends.
  std::optional<int64_t> max_steps = {};
  /// Run on every trainer.
  std::vector<std::shared_ptr<Hook>> hooks{};
  /// Told about checkpoints, on the chief (or master, or local process) only.
  std::vector<std::shared_ptr<CheckpointListener>> saving_listeners{};
  /// For the flag --predict FILE of programs (run.h): reads that file as the program reads what it trains on.
  ///
  ///   .predict_input = [unlabelled](const std::string& path) { return Dataset::csv({path}, unlabelled).batch(500); }
  ///
  /// `unlabelled` are the CsvOptions of the training table without its labels, and without their columns, which rows to be
  /// predicted do not have (examples/housing makes them).
  PredictInput predict_input = {};

  /// TypeMismatch without an input function; InvalidArgument for max_steps <= 0, a null hook or a null listener.
  /// train_and_evaluate asks before anything else.
  Result<void> check() const;
};

}  // namespace shoal
