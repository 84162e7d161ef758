// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The results of a task, as the task knows them at its end. For programs that print results.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "shoal/base/storage.h"
#include "shoal/estimator/metrics.h"

namespace shoal {

struct TaskReport {
  std::string task = {};  ///< The name of the task, such as "chief 0"; "" for a local run.
  Metrics metrics = {};   ///< Metrics of the last evaluation; empty if this task does not evaluate.
  /// The evaluation with the lowest loss among all that eval_dir holds, those of earlier starts included. Empty if no
  /// evaluation has a number for its loss.
  Metrics best = {};
  /// The folder to which any task of the run writes the event files of its evaluations; "" for a task that needs no folder.
  std::string eval_dir = {};
  std::string model_dir = {};        ///< The folder for results; "" for a task that needs none.
  std::optional<int64_t> seed = {};  ///< The seed of the run, which the user gave or Shoal drew.
  std::optional<uint64_t> global_step = {};
  std::optional<double> loss = {};                 ///< The loss of this trainer's last step.
  std::optional<double> examples_per_second = {};  ///< Examples per second of this trainer.
  std::optional<double> seconds = {};              ///< The duration of training.
  /// True if a signal, or a stop request on the token RunConfigOptions::stop, ended this run. Another start continues it.
  bool interrupted = false;
  /// True if the task saved its state and stopped, to be started again (OnSigterm::kLeave): its job has not ended.
  bool gave_way = false;
};

/// A model_dir in which a task of this process leads the training. The task has locked it, if the storage has locks.
struct LedFolder {
  std::string model_dir = {};
  std::string run = {};                   ///< The id of the folder's run (run.json).
  int64_t start = 0;                      ///< How often the run was started, this start included.
  std::optional<int64_t> seed = {};       ///< The seed of the run.
  bool trains = true;                     ///< False if the run ended in an earlier start, so nothing is left to train.
  std::shared_ptr<Storage> storage = {};  ///< RunConfig::storage(); null: the file system.
};

}  // namespace shoal
