// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Describes evaluations: their input, how often they take place, and which exports follow them.
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

/// Exporters in the order of their calls. A single exporter converts to a list, so `.exporters = best_exporter("best")`
/// means `.exporters = {best_exporter("best")}`.
class ExporterList : public std::vector<std::shared_ptr<Exporter>> {
 public:
  ExporterList() = default;
  ExporterList(std::initializer_list<std::shared_ptr<Exporter>> exporters);
  ExporterList(std::vector<std::shared_ptr<Exporter>> exporters);  // NOLINT
  template <class One>
  requires std::is_convertible_v<std::shared_ptr<One>, std::shared_ptr<Exporter>> ExporterList(
      std::shared_ptr<One> exporter)
      : vector{std::move(exporter)} {}  // NOLINT: an implicit conversion
};

/// Mind the defaults: an evaluation covers 100 batches, not the whole dataset, and at most one evaluation starts per
/// ten minutes.
struct EvalSpec {
  /// Data not seen in training; opened anew for each evaluation. Required.
  InputFn input_fn = {};
  /// Batches per evaluation, > 0; None: until the input ends.
  std::optional<int64_t> steps = 100;
  /// The least time between the starts of two evaluations, seconds, >= 0.
  int64_t throttle_secs = 600;
  /// The evaluator's wait before its first search for a checkpoint, seconds, >= 0. Local mode ignores it.
  int64_t start_delay_secs = 120;
  /// Keeps the results of several evaluations apart: each writes to its own folder, `eval_<name>`. Not empty, no slash.
  std::optional<std::string> name = {};
  /// Hooks that run during each evaluation.
  std::vector<std::shared_ptr<Hook>> hooks{};
  /// One exporter, or a list of them, called after each evaluation in this order. Names are non-empty and differ.
  ExporterList exporters = {};
  /// A listener that may end evaluation early; in local mode this ends training, too (eval_listener.h). Null: none.
  std::shared_ptr<EvalListener> listener = {};
  /// Reads a file for --predict, as TrainSpec::predict_input does. If both are set, this one is ignored.
  PredictInput predict_input = {};

  /// TypeMismatch without an input function; InvalidArgument for steps <= 0, a negative time, a name that is empty or has
  /// a slash, a null hook or exporter, and exporters whose names are empty, have a slash or are equal (all are listed).
  Result<void> check() const;
};

}  // namespace shoal
