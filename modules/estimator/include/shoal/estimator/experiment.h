// SPDX-License-Identifier: Apache-2.0
#pragma once
/// An experiment: an estimator with its inputs for training and evaluation, made by one function from a configuration and a
/// command line. Training by hand, a trial of a search and a step of a pipeline are calls of that same function.
///
///   shoal::Experiment make(shoal::RunConfig config, const shoal::CommandLine& line) {
///     return {.estimator = shoal::dnn_classifier({.hidden_units = line.flags.get_ints("hidden-units")}, {}, config),
///             .train_spec = {.input_fn = training_input, .max_steps = line.steps},
///             .eval_spec = {.input_fn = test_input}};
///   }
///   int main(int argc, char** argv) { return shoal::run_experiment(argc, argv, program, make); }
#include "shoal/base/std_function.h"
#include "shoal/estimator/estimator.h"
#include "shoal/estimator/eval_spec.h"
#include "shoal/estimator/experiment_report.h"
#include "shoal/estimator/run.h"
#include "shoal/estimator/train_spec.h"

namespace shoal {

/// The three arguments of train_and_evaluate().
struct Experiment {
  Estimator estimator;
  TrainSpec train_spec = {};
  EvalSpec eval_spec = {};
};

/// Makes the experiment of one task. With a cluster of threads several calls run at once, so each makes its own estimator,
/// hooks and exporters, and only reads what they share. The estimator takes the given config, or a copy that
/// RunConfig::replace() made, because the config holds the task's place in the cluster and the receiver of its report.
using ExperimentFn = std::function<Experiment(RunConfig config, const CommandLine& line)>;

/// For the main() of a program with one experiment: calls run() (run.h) with a function that calls run_experiment() below.
/// Returns the exit status that run() returns.
int run_experiment(int argc, const char* const* argv, const ProgramInfo& program, const ExperimentFn& make);

/// Makes the experiment, trains and evaluates it, and returns a report. A program may call it any number of times, each
/// time with another command line or model_dir. In a cluster the report has what this task knows. Raises InvalidArgument
/// without `make`, the exceptions of `make`, and the errors of train_and_evaluate(); a returned report never has the status
/// kFailed.
ExperimentReport run_experiment(const ExperimentFn& make, RunConfig config, const CommandLine& line);
/// run_experiment() with errors as values, for programs that are built without exceptions (docs/errors.md).
Result<ExperimentReport> try_run_experiment(const ExperimentFn& make, RunConfig config, const CommandLine& line);

}  // namespace shoal
