// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a task knows at its end, for programs that print results.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "shoal/base/storage.h"
#include "shoal/estimator/metrics.h"

namespace shoal {

struct TaskReport {
  std::string task = {};                       ///< The name of the task, such as "chief 0"; "" for a local run.
  Metrics metrics = {};                        ///< Metrics of the last evaluation, where this task evaluates.
  /// The evaluation with the lowest loss among all in the folder of this task's evaluations, earlier starts included. Empty if
  /// no evaluation has a number for its loss.
  Metrics best = {};
  /// The folder of the event files of the run's evaluations, by any task; "" for a task that needs no folder.
  std::string eval_dir = {};
  std::string model_dir = {};        ///< Where results lie; "" for a task that needs none.
  std::optional<int64_t> seed = {};  ///< The seed of the run, given or drawn.
  std::optional<uint64_t> global_step = {};
  std::optional<double> loss = {};                 ///< The loss of this trainer's last step.
  std::optional<double> examples_per_second = {};  ///< The rate of this trainer.
  std::optional<double> seconds = {};              ///< The duration of training.
  bool interrupted = false;  ///< True if a signal or the config's stop ended this run, which another start continues.
  /// True if the task gave way (OnSigterm::kLeave): its job has not ended, and it is to be started again.
  bool gave_way = false;
};

/// A model_dir in which a task of this process leads the training. The task holds the folder's lock, if locks exist there.
struct LedFolder {
  std::string model_dir = {};
  std::string run = {};              ///< The id of the folder's run (run.json).
  int64_t start = 0;                 ///< The number of this start among those of the run, from 1.
  std::optional<int64_t> seed = {};  ///< The seed of the run.
  bool trains = true;                ///< False where the run has ended before, so that nothing is left to train.
  std::shared_ptr<Storage> storage = {};  ///< RunConfig::storage(); null: the file system.
};

}  // namespace shoal
