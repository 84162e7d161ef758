// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Hooks that report values of the model: in the log at an interval, or once at the end.
///
///   .hooks = {shoal::log_values({"loss", "dense/bias"}, {.every_iterations = 50})}
///   // step = 200, loss = 0.31, dense/bias = [0.02, -0.11, 0.4] (1.204 s)
///
/// A hook can report any value of a model function. Give the name that the model has for it (HookSetup::value()), for
/// example one of EstimatorSpec::named_values, or, within the model function, the value itself:
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

/// A value to report. It is given by its name in the model, or as a `Value` of the graph with a name that the caller
/// chooses. A `Value` belongs to one graph, so make such a hook in the model function.
struct ReportedValue {
  ReportedValue(const char* n);  // NOLINT: an implicit conversion, so that a list of values may have names
  ReportedValue(std::string n);  // NOLINT: an implicit conversion, so that a list of values may have names
  ReportedValue(std::string n, Value v);
  std::string name;
  std::optional<Value> value = {};  ///< None: the hook calls HookSetup::value(name) to get the value.
};

/// Names and values, in the order in which they were given to the hook. The views are valid only during the call that
/// receives them.
using NamedTensors = std::vector<std::pair<std::string, TensorView>>;
/// Formats values as "loss = 0.31, dense/bias = [0.02, -0.11, 0.4]": numbers with six digits; of larger tensors the first
/// eight elements and the shape.
std::string to_text(const NamedTensors& values);

struct LogValuesOptions {
  /// The number of steps of this task's run between two lines, > 0; the first line comes at the first step. If neither
  /// this nor every_secs is set, the interval is 100 steps, or with at_end = true, the line at the end is the only one.
  std::optional<int64_t> every_iterations = {};
  std::optional<double> every_secs = {};  ///< The time between two lines in seconds.
  /// Whether a line at the end reports the final values (RunContext::has_final_values()).
  bool at_end = false;
  /// Formats the whole line. Empty: "step = <global step>, ", to_text(), and the seconds since the line before.
  std::function<std::string(const NamedTensors& values)> format = {};
};
/// Logs values (info) at the steps that are due, as computed with the weights before the update. Works in training,
/// evaluation and prediction, where iterations are batches. Raises InvalidArgument without values, for two values of one
/// name, if both intervals are set, and for an interval that is not greater than 0. begin() raises the errors of
/// HookSetup::value(), and InvalidArgument for a value of another graph.
std::shared_ptr<Hook> log_values(std::vector<ReportedValue> values, LogValuesOptions options = {});

struct FinalValuesOptions {
  /// Called once in end() with the values. An exception ends the run.
  std::function<void(RunContext& run, const NamedTensors& values)> then = {};
  bool log = true;  ///< Whether a log line (info) reports the values: "final values at step 2000: ...".
};
/// Computes values once, at the end of a run, and reports them. RunContext::has_final_values() says which task computes
/// them, and from which weights; a run without final values logs a warning on that task. Errors: those of log_values().
std::shared_ptr<Hook> final_values(std::vector<ReportedValue> values, FinalValuesOptions options = {});

}  // namespace shoal
