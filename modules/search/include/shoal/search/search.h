// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A hyper-parameter search as one call, in one program. `shoal tune` is the same with a process for each trial, several at a time, and
/// with early ends.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/std_function.h"
#include "shoal/estimator/metrics.h"
#include "shoal/estimator/params.h"
#include "shoal/estimator/run_config.h"
#include "shoal/search/journal.h"
#include "shoal/search/tuner.h"

namespace shoal {

struct SearchOptions {
  std::string folder = {};  ///< Where the journal and the trials' folders are.
  std::vector<std::string>
      parameters{};  ///< "learning-rate=1e-4..1e-1:log", and the other texts of tuning::parse_parameter().
  tuning::Algorithm algorithm = tuning::Algorithm::kRandom;  ///< kGrid or kRandom.
  std::optional<int64_t> trials = {};                        ///< How many trials; nothing: 20, or all of a grid.
  std::string metric = "loss";                               ///< Which of a trial's metrics is compared.
  tuning::Goal goal = tuning::Goal::kMin;                    ///< Whether less or more of it is better.
  int64_t seed = 1;                                          ///< Another seed draws other values.
  RunConfigOptions config = {};  ///< What the trials' configs are made of; model_dir is the trial's own.
};

struct SearchResult {
  std::vector<tuning::Trial> trials{};  ///< In order.
  std::optional<tuning::Trial> best{};  ///< Nothing where no trial has a value.
  Params best_params{};                 ///< The parameters of the best trial.
  std::string best_model_dir = {};      ///< Its folder.
};

/// Trains one trial, and returns its metrics. The config's model_dir is folder/trials/0007, and its trial() is the number.
using TrialFunction = std::function<Metrics(const Params& params, const RunConfig& config)>;

/// Calls `train` for one trial after the other, on the calling thread. Each trial is in the journal of options.folder
/// (tuning::Journal): the same call in a program that is started again does not repeat trials that have ended, and calls `train` anew
/// for the one that was running, whose model_dir has its checkpoints. A trial whose function raises an exception has failed, and the
/// search goes on; one of kind NanLoss has the worst value. Of kind Cancelled it ends the search, and comes out.
///
///   const shoal::SearchResult result = shoal::search({.folder = "s", .parameters = {"units=16|64|256", "dropout=0..0.5"}},
///                                                    [](const shoal::Params& params, const shoal::RunConfig& config) { ... });
///
/// A number is a number in params, and a list of texts is texts: params.get_real("dropout"), params.get_string("units").
/// Raises InvalidArgument for parameters that cannot be read and for an algorithm other than these two, FailedPrecondition where the
/// folder holds another search, DataLoss for a damaged journal, and Unavailable where another process searches in the folder or nothing
/// can be written.
SearchResult search(const SearchOptions& options, const TrialFunction& train);

}  // namespace shoal
