// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Runs a hyper-parameter search in one call, within one program. `shoal tune` does the same with a process for each trial,
/// and with several trials at a time.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/std_function.h"
#include "shoal/estimator/experiment.h"
#include "shoal/estimator/metrics.h"
#include "shoal/estimator/params.h"
#include "shoal/estimator/run_config.h"
#include "shoal/search/journal.h"
#include "shoal/search/tuner.h"

namespace shoal {

struct SearchOptions {
  std::string folder = {};                ///< The folder of the journal and of the trials' folders.
  std::vector<std::string> parameters{};  ///< Texts for tuning::parse_parameter(), such as "learning-rate=1e-4..1e-1:log".
  tuning::Algorithm algorithm = tuning::Algorithm::kRandom;  ///< kAsha only for search() with a TrialExperiment.
  std::optional<int64_t> trials = {};                        ///< The number of trials. Default: 20, or all of a grid.
  std::string metric = "loss";                               ///< The name of the metric that ranks the trials.
  std::optional<tuning::Goal> goal = {};  ///< kMin if less of the metric is better. Default: tuning::goal_of(metric).
  int64_t seed = 1;                       ///< The seed of the values that are drawn.
  std::optional<int64_t> max_steps = {};  ///< Only with kAsha, and required: the steps of a trial that is not ended early.
  std::optional<int64_t> min_steps = {};  ///< Only with kAsha: the first comparison's step. Default: max_steps / eta^3.
  std::optional<int64_t> eta = {};        ///< Only with kAsha: tuning::AshaOptions::eta. Default: 3.
  RunConfigOptions config = {};  ///< The config of the trials; each gets its own model_dir. `config.stop` ends the search.
};

struct SearchResult {
  std::vector<tuning::Trial> trials{};  ///< All trials, in the order of their numbers.
  std::optional<tuning::Trial> best{};  ///< Nothing if no trial has a value.
  Params best_params{};                 ///< The parameters of the best trial.
  std::string best_model_dir = {};      ///< The model_dir of the best trial.
};

/// Trains one trial, and returns its metrics. The config has model_dir folder/trials/0007 and trial() "7" for trial 7.
using TrialFunction = std::function<Metrics(const Params& params, const RunConfig& config)>;

/// Calls `train` for one trial after the other, on the calling thread. The journal in options.folder (tuning::Journal)
/// records each trial. If the program is started again, the same call does not repeat trials that have ended. For the trial
/// that was running, it calls `train` again, with the same model_dir, which has the trial's checkpoints. If `train` throws
/// an exception, the trial has failed, and the search continues; an exception of kind NanLoss gives the trial the worst
/// value. An exception of kind Cancelled ends the search and is rethrown. A stop of options.config.stop raises such an
/// exception, too; the trial that it interrupts continues training at the next call.
///
///   const shoal::SearchResult result = shoal::search({.folder = "s", .parameters = {"units=16|64|256", "dropout=0..0.5"}},
///                                                    [](const shoal::Params& params, const shoal::RunConfig& config) { ... });
///
/// A range of numbers gives numbers in params, and a list of texts gives texts: params.get_real("dropout"),
/// params.get_string("units").
/// Raises InvalidArgument for parameters that cannot be read, a metric of unknown goal, the algorithm kAsha, and steps or eta
/// without kAsha; FailedPrecondition if the folder holds another search or was removed meanwhile; DataLoss for a damaged journal; and Unavailable if
/// another process searches in the folder or a file cannot be written.
SearchResult search(const SearchOptions& options, const TrialFunction& train);

/// Makes the experiment of a trial from its parameters. The experiment's estimator has to use the given config, or a copy
/// made by RunConfig::replace().
using TrialExperiment = std::function<Experiment(const Params& params, RunConfig config)>;

/// Like the search() above, but `make` only makes the experiment of a trial, and search() itself trains and evaluates it by
/// train_and_evaluate(). The value of a trial is that of its last evaluation.
///
/// This search sees each evaluation, so the algorithm may be kAsha, which ends a trial early if its value is not among the
/// best at the same step. With kAsha, options.max_steps replaces max_steps of the TrainSpec, each checkpoint is evaluated
/// (EvalSpec::throttle_secs is 0), and checkpoints come every min_steps steps unless options.config says otherwise. Trials
/// run one after another, so a trial is compared with those before it. A learning rate that falls until the end of training
/// needs max_steps as well: take it from options, since the TrainSpec does not decide.
///
///   shoal::search({.folder = "s", .parameters = {"learning-rate=1e-4..1e-1:log"}, .algorithm = shoal::tuning::Algorithm::kAsha,
///                  .trials = 64, .max_steps = 9000},
///                 [](const shoal::Params& params, shoal::RunConfig config) -> shoal::Experiment { ... });
///
/// Raises the errors of the other search(); with kAsha also InvalidArgument if max_steps is missing, or if steps and eta are
/// outside the ranges of tuning::AshaOptions.
SearchResult search(const SearchOptions& options, const TrialExperiment& make);

}  // namespace shoal
