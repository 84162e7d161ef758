// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What to evaluate on, how often, and what to export afterwards.
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/estimator/input_fn.h"

namespace shoal {

class EvalListener;
class Exporter;
class Hook;

/// Exporters in their order. One stands for a list of one, so `.exporters = best_exporter("best")` is
/// `.exporters = {best_exporter("best")}`.
class ExporterList : public std::vector<std::shared_ptr<Exporter>> {
 public:
  ExporterList() = default;
  ExporterList(std::initializer_list<std::shared_ptr<Exporter>> exporters);
  ExporterList(std::vector<std::shared_ptr<Exporter>> exporters);  // NOLINT
  template <class One>
  requires std::is_convertible_v<std::shared_ptr<One>, std::shared_ptr<Exporter>> ExporterList(
      std::shared_ptr<One> exporter)
      : vector{std::move(exporter)} {}  // NOLINT: a list of one
};

/// Mind the defaults: an evaluation looks at 100 batches, not at the whole dataset, and at most one starts per ten minutes.
struct EvalSpec {
  /// Data not seen in training; opened anew for each evaluation. Required.
  InputFn input_fn = {};
  /// Batches per evaluation, > 0; None for all until the input ends.
  std::optional<int64_t> steps = 100;
  /// The least time between the starts of two evaluations, seconds, >= 0.
  int64_t throttle_secs = 600;
  /// The evaluator's wait before its first look, seconds, >= 0. Plays no part in local mode.
  int64_t start_delay_secs = 120;
  /// Keeps several evaluations apart: results go to `eval_<name>`. Not empty, no slash.
  std::optional<std::string> name = {};
  /// Hooks that run during each evaluation.
  std::vector<std::shared_ptr<Hook>> hooks{};
  /// One exporter, or a list of them, called after each evaluation in this order. Names are non-empty and differ.
  ExporterList exporters = {};
  /// May end evaluation, and in local mode training, early (eval_listener.h). Null if nobody does.
  std::shared_ptr<EvalListener> listener = {};
  /// Reads a file for --predict, as TrainSpec::predict_input does. That one is used where both are set.
  PredictInput predict_input = {};

  /// TypeMismatch without an input function; InvalidArgument for steps <= 0, a negative time, a name that is empty or has
  /// a slash, a null hook or exporter, and exporters whose names are empty, have a slash or are equal (all are listed).
  Result<void> check() const;
};

}  // namespace shoal
