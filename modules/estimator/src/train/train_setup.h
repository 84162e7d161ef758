// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The set-up of a training: everything that TrainRun needs before the first step.
#include <memory>
#include <string>
#include <vector>

#include "hooks/job_metrics.h"
#include "hooks/progress_hook.h"
#include "model/initial_source.h"
#include "model/model.h"
#include "shoal/cluster/remote_store.h"
#include "shoal/monitor/event_writer.h"
#include "train/checkpoint_saver.h"
#include "train/resumable_input.h"
#include "train/trainer_folder.h"

namespace shoal {

struct TrainSetup {
  std::unique_ptr<BuiltModel> model;
  std::vector<std::shared_ptr<Hook>> hooks;  ///< In the order in which they are called (shoal/estimator/hooks.h).
  bool stops_quietly = false;                ///< See LoopOptions::stops_quietly.
  std::vector<std::string> fetch_names;  ///< The names of the values that hooks fetch, in the program's order.
  NamedValues final_values;              ///< The values that hooks read at the end (HookSetup::fetch_at_end()).
  std::shared_ptr<ProgressHook> progress;        ///< One of the hooks.
  std::unique_ptr<monitor::EventWriter> events;  ///< Null if this task writes no summaries.
  std::unique_ptr<CheckpointSaver> saver;        ///< Null if this task saves no checkpoints.
  /// Supplies initial values that initializers cannot make, as for a warm start. Null if this task does not lead, or if it
  /// resumes from a checkpoint.
  std::unique_ptr<InitialSource> initial;
  std::unique_ptr<cluster::Store> store;    ///< The store, bound to the model's program.
  cluster::RemoteStore* servers = nullptr;  ///< `store` itself if the model lies on servers; else null.
  std::unique_ptr<JobMetrics> metrics;      ///< Reports the job's speed (batches per second); null: no reports.
};

/// Builds the model and everything that trains it, without connecting to other tasks. All arguments outlive the result; the
/// types of the input are known. Errors: those of the model function and of the hooks' begin(); InvalidArgument for a
/// train_op or a placement that does not fit; FailedPrecondition for features that only local mode has.
Task<Result<TrainSetup>> set_up_training(TrainScope& scope, TrainerFolder& folder, const ResumableInput& input);

}  // namespace shoal
