// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Hooks that tell values of the model: in the log every so often, or once at the end.
///
///   .hooks = {shoal::log_values({"loss", "dense/bias"}, {.every_iterations = 50})}
///   // step = 200, loss = 0.31, dense/bias = [0.02, -0.11, 0.4] (1.204 s)
///
/// Any value of a model function can be told: by a name that the model has for it (HookSetup::value()), as
/// EstimatorSpec::named_values gives one, or, within the model function, as it is:
///
///   spec.training_hooks = {shoal::log_values({{"mean logit", ops::reduce_mean(logits)}})};
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shoal/base/std_function.h"
#include "shoal/base/tensor.h"
#include "shoal/estimator/hook.h"
#include "shoal/graph/graph.h"

namespace shoal {

/// A value that a hook tells: by the name that the model has for it, or a value of the graph under a name of the caller's.
/// The latter is of one graph, so its hook is made in the model function.
struct ToldValue {
  ToldValue(const char* n);  // NOLINT: a name is one
  ToldValue(std::string n);  // NOLINT: a name is one
  ToldValue(std::string n, Value v);
  std::string name;
  std::optional<Value> value = {};  ///< None: HookSetup::value(name).
};

/// Names and values, in the order in which a hook was told to read them. The views are valid only during the call that receives
/// them.
using NamedTensors = std::vector<std::pair<std::string, TensorView>>;
/// "loss = 0.31, dense/bias = [0.02, -0.11, 0.4]": numbers with six digits, of larger tensors the first eight elements and
/// the shape.
std::string to_text(const NamedTensors& values);

struct LogValuesOptions {
  /// The steps of this task's run between two lines, greater than 0; the first line is at the first step. If neither this
  /// nor every_secs is set: 100, or, with at_end, no line but that of the end.
  std::optional<int64_t> every_iterations = {};
  std::optional<double> every_secs = {};  ///< The same in seconds.
  /// Whether there is a line at the end, of the final values (RunContext::has_final_values()).
  bool at_end = false;
  /// Makes the whole line. Empty: "step = <global step>, ", to_text(), and the seconds since the line before.
  std::function<std::string(const NamedTensors& values)> format = {};
};
/// Logs values (info) of the steps that are due, as each was computed with the weights before its update. For training,
/// evaluation and prediction, where iterations are batches. Raises InvalidArgument without values, for two of one name, if
/// both intervals are set, and for one that is not greater than 0; begin() raises what HookSetup::value() does, and
/// InvalidArgument for a value of another graph.
std::shared_ptr<Hook> log_values(std::vector<ToldValue> values, LogValuesOptions options = {});

struct FinalValuesOptions {
  /// Called with the values, once, in end(). What it throws ends the run.
  std::function<void(RunContext& run, const NamedTensors& values)> then = {};
  bool log = true;  ///< Whether a line (info) says them: "final values at step 2000: ...".
};
/// Computes values once, at the end of a run, and tells them. Which task computes them, and from what, is said at
/// RunContext::has_final_values(); a run that has none warns of it on that task. Errors: as of log_values().
std::shared_ptr<Hook> final_values(std::vector<ToldValue> values, FinalValuesOptions options = {});

}  // namespace shoal
